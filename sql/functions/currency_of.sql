-- currency_of(sent, mapped): the code of a currency as a store's record states it: what a
-- setting says it is, else in capitals where ISO 4217 lists it, else as sent.
list_transform(
    [regexp_replace(sent, '^[\s\x{a0}]+|[\s\x{a0}]+$', '', 'g')],
    lambda said: coalesce(mapped[upper(said)], if(is_currency(upper(said)), upper(said), nullif(said, '')))
)[1]
