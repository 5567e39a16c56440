-- instant_of(sent): the instant of a time as a document has it; null outside the years 2 to 9998, where a zone
-- may lead to a day that does not exist.
cast(if(substr(sent, 5, 1) <> '-' or left(sent, 4) in ('0000', '0001', '9999'), null, sent) as timestamp with time zone)
