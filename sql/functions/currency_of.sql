-- currency_of(sent, mapped): the code of a currency as a store's record states it: what a
-- setting says it is, else in capitals where ISO 4217 lists it, else as sent.
coalesce(
    mapped[trim(sent)],
    if(is_currency(upper(trim(sent))), upper(trim(sent)), nullif(trim(sent), ''))
)
