-- instant_of(sent): the instant of a time as a document has it; null for a year before 1, of which no day need exist.
cast(if(left(sent, 1) = '-' or left(sent, 4) = '0000', null, sent) as timestamp with time zone)
