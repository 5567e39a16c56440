-- What did a product cost, and when was that observed?
from core.menu_price_versions
order by menu_id, product_id, group_no, price_no, version_no
limit 100
