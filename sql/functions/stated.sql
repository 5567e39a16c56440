-- stated(instant, earliest, too_late): a time as it counts; null outside these bounds.
if(instant < earliest or instant >= too_late, null, instant)
