-- signed(sign, amount): what an amount adds to a total that counts it once, not, or as
-- subtracted; an amount that is not counted may be missing.
case sign when 1 then amount when 0 then 0 when -1 then -amount end
