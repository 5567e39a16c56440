-- A store with a close of its own, or that was reopened alone, does not have the close of every other store.
left join $closes as own
    on $of.business_date = own.business_date and $of.store_id = own.store_id and not own.is_every_store
left join $closes as every_store on $of.business_date = every_store.business_date and every_store.is_every_store
