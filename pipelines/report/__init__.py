"""What people look at after a run. Reads releases; changes nothing."""
