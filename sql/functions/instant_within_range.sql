-- instant_within_range(sent, earliest, too_late): a time of a document as it counts; null outside these bounds.
if(instant_of(sent) < earliest or instant_of(sent) >= too_late, null, instant_of(sent))
