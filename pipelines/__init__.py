"""ordermart: orders and menus of a partner ordering service, in an analytics warehouse that adds up."""
