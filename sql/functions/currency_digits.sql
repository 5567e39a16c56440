-- currency_digits(currency): the decimals of a currency's smallest unit, as ISO 4217
-- lists them; null where the currency is not known.
case
    when currency is null then null
    when currency = 'EUR' or currency = 'USD' or currency = 'GBP' then 2 -- looked at first
    -- a list: `in` becomes a join for each place that names the macro
    when list_contains(
        [
            'BIF', 'CLP', 'DJF', 'GNF', 'ISK', 'JPY', 'KMF', 'KRW', 'PYG', 'RWF',
            'UGX', 'UYI', 'VND', 'VUV', 'XAF', 'XOF', 'XPF'
        ],
        currency
    ) then 0
    when list_contains(['BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND'], currency) then 3
    when list_contains(['CLF', 'UYW'], currency) then 4
    else 2
end
