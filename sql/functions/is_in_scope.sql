-- is_in_scope(setting, an_order): whether an order is one of those that a [[formula.rule]] or
-- [[formula.component]] is about; what the setting leaves out limits nothing.
(setting.platform is null or setting.platform = an_order.platform)
and (setting.dispatch_method is null or setting.dispatch_method = an_order.dispatch_method)
and (setting.store_id is null or setting.store_id = an_order.store_id)
and (setting.status is null or setting.status = an_order.status)
and (setting.first_day is null or an_order.business_date >= setting.first_day)
and (setting.last_day is null or an_order.business_date <= setting.last_day)
