"""Services with the documented login and listing habits of public ones; each names the pages that document them.

Ids are integers, and menus and orders are where the interface has them: it says so of every service.
"""

from __future__ import annotations

from typing import Any

from tests.strangers.service import CLIENT_ID, CLIENT_SECRET, TOKEN, Reply, Request, Stranger

PAIR = (CLIENT_ID, CLIENT_SECRET)


class Square(Stranger):
    """Square: a login in JSON with a grant type; the last page of a list has no cursor.

    https://developer.squareup.com/reference/square/oauth-api/obtain-token
    https://developer.squareup.com/docs/build-basics/common-api-patterns/pagination
    """

    login_path = "/oauth2/token"
    list_path = "/v2/locations"

    def login(self, request: Request) -> Reply:
        """Want client_id, client_secret and grant_type in JSON."""
        body = request.body
        for name in ("client_id", "client_secret", "grant_type"):
            if not request.is_json or not body.get(name):
                return Reply(400, {"message": f"Missing required parameter '{name}'", "type": "bad_request"})
        if (body["client_id"], body["client_secret"]) != PAIR:
            return self.refuse(401, {"message": "Not authorized", "type": "service.not_authorized"})
        return Reply(
            200,
            {
                "access_token": TOKEN,
                "token_type": "bearer",
                "expires_at": "2026-12-24T00:00:00Z",
                "merchant_id": "ML2PMZQ",
                "refresh_token": "refresh-me-instead",
                "short_lived": False,
            },
        )

    def record(self, store: dict[str, Any]) -> dict[str, Any]:
        """Name the business too."""
        return {
            "id": store["id"],
            "name": store["name"],
            "timezone": store["timezone"],
            "currency": store["currency"],
            "country": "USA",
            "business_name": "Harbour Kitchens",
            "menu_ids": store["menu_ids"],
        }

    def page(self, records: list[dict[str, Any]], request: Request) -> Reply:
        """Name the next page by a cursor, if there is one."""
        place = request.query.get("cursor", "c0")
        if not place.startswith("c"):
            return Reply(400, {"errors": [{"code": "INVALID_CURSOR"}]})
        page, following = self.slice(records, int(place[1:]), request.query.get("limit"))
        return Reply(200, {"locations": page, **({"cursor": f"c{following}"} if following is not None else {})})


class Toast(Stranger):
    """Toast: a login in JSON with a member of its own, a nested token, the plain array, and other numbers per store.

    https://doc.toasttab.com/openapi/authentication/operation/authenticationLoginPost
    https://doc.toasttab.com/openapi/partners/operation/restaurantsGet
    """

    login_path = "/authentication/v1/authentication/login"
    list_path = "/partners/v1/restaurants"

    def login(self, request: Request) -> Reply:
        """Want clientId, clientSecret and userAccessType in JSON."""
        body = request.body
        missing = [name for name in ("clientId", "clientSecret", "userAccessType") if not body.get(name)]
        if not request.is_json or missing:
            return Reply(400, {"status": 400, "message": f"Missing fields: {', '.join(missing)}"})
        if (body["clientId"], body["clientSecret"]) != PAIR or body["userAccessType"] != "TOAST_MACHINE_CLIENT":
            return self.refuse(401, {"status": 401, "message": "Unauthorized"})
        token = {"tokenType": "Bearer", "scope": None, "expiresIn": 86400, "accessToken": TOKEN, "refreshToken": None}
        return Reply(200, {"token": token, "status": "SUCCESS"})

    def record(self, store: dict[str, Any]) -> dict[str, Any]:
        """Have a group's number and a date in milliseconds too, which differ per store."""
        return {
            "restaurantId": store["id"],
            "managementGroupId": store["id"] + 90_000,
            "restaurantName": store["name"],
            "createdDate": 1_643_858_534_451 + store["id"],
            "general": {"timeZone": store["timezone"], "currencyCode": store["currency"]},
            "menus": {str(menu_id): {"published": True} for menu_id in store["menu_ids"]},
        }

    def page(self, records: list[dict[str, Any]], _request: Request) -> Reply:
        """List all at once."""
        return Reply(200, records)


class UberEats(Stranger):
    """Uber Eats: a login by form with a scope; a list names the next page by next_key, which is empty on the last one.

    https://developer.uber.com/docs/eats/guides/authentication
    https://developer.uber.com/docs/eats/references/api/v1/get-eats-stores
    """

    login_path = "/oauth/v2/token"
    list_path = "/v1/eats/stores"

    def login(self, request: Request) -> Reply:
        """Want a form with grant_type and scope."""
        body = request.body
        if not request.is_form:
            return Reply(415, {"error": "unsupported_media_type"})
        for name in ("client_id", "client_secret", "grant_type", "scope"):
            if not body.get(name):
                return Reply(400, {"error": "invalid_request", "error_description": f"{name} is required"})
        if (body["client_id"], body["client_secret"]) != PAIR or body["scope"] != "eats.store":
            return self.refuse(401)
        return Reply(200, {"access_token": TOKEN, "token_type": "Bearer", "expires_in": 2592000, "scope": "eats.store"})

    def record(self, store: dict[str, Any]) -> dict[str, Any]:
        """Name a store as its API does."""
        return {
            "store_id": store["id"],
            "name": store["name"],
            "timezone": store["timezone"],
            "location": {"address": "636 W 28th Street", "country": "US"},
            "currency_code": store["currency"],
            "price_bucket": "$$$",
            "menus": [{"id": menu_id} for menu_id in store["menu_ids"]],
        }

    def page(self, records: list[dict[str, Any]], request: Request) -> Reply:
        """Name the next page by next_key."""
        place = request.query.get("start_key", "k0")
        page, following = self.slice(records, int(place[1:]), request.query.get("limit"))
        return Reply(200, {"stores": page, "next_key": "" if following is None else f"k{following}"})


class Deliverect(Stranger):
    """Deliverect: a login in JSON with an audience; numbered pages, and a total in the envelope.

    https://docs.deliverect.com/doc/dispatch-api/operation/operation-post-oauth-token
    https://developers.deliverect.com/docs/how-to-query-results
    """

    login_path = "/oauth/token"
    list_path = "/locations"

    def login(self, request: Request) -> Reply:
        """Want an audience."""
        body = request.body
        needed = ("client_id", "client_secret", "audience", "grant_type")
        errors = {name: ["required field"] for name in needed if not body.get(name)}
        if not request.is_json or errors:
            return Reply(422, {"_status": "ERR", "_issues": errors})
        if (body["client_id"], body["client_secret"]) != PAIR:
            return self.refuse(401, {"error": "access_denied", "error_description": "Unauthorized"})
        return Reply(
            200,
            {"access_token": TOKEN, "expires_at": 1_795_000_000, "token_type": "Bearer", "scope": "genericPOS"},
        )

    def record(self, store: dict[str, Any]) -> dict[str, Any]:
        """Have links in each record."""
        return {
            "_id": store["id"],
            "name": store["name"],
            "timezone": store["timezone"],
            "currency": store["currency"],
            "menus": store["menu_ids"],
            "_links": {"self": {"title": "location", "href": f"locations/{store['id']}"}},
        }

    def page(self, records: list[dict[str, Any]], request: Request) -> Reply:
        """Give a page by its number, with the total in _meta."""
        number = int(request.query.get("page", "1"))
        size = int(request.query.get("max_results", self.page_size))
        page, _ = self.slice(records, (number - 1) * size, size)
        return Reply(200, {"_items": page, "_meta": {"page": number, "max_results": size, "total": len(records)}})


class Uphold(Stranger):
    """Uphold: a login by Basic authentication; the address of the next page is in the body, unless it is the last.

    https://developer.uphold.com/rest-apis/authentication
    https://developer.uphold.com/rest-apis/pagination
    """

    login_path = "/oauth2/token"
    list_path = "/api/stores"

    def login(self, request: Request) -> Reply:
        """Want Basic authentication and a grant type in a form."""
        if request.basic is None:
            return Reply(401, {"error": "invalid_client"}, {"WWW-Authenticate": "Basic"})
        if request.basic != PAIR:
            return self.refuse(401, headers={"WWW-Authenticate": "Basic"})
        if request.body.get("grant_type") != "client_credentials":
            return Reply(400, {"error": "invalid_request", "error_description": "grant_type is missing"})
        return Reply(200, {"access_token": TOKEN, "token_type": "bearer", "expires_in": 43199, "scope": "stores"})

    def record(self, store: dict[str, Any]) -> dict[str, Any]:
        """Have one menu under a name of its own."""
        return {
            "id": store["id"],
            "displayName": store["name"],
            "region": {"tz": store["timezone"], "currency": store["currency"], "country": "DEU"},
            "activeMenu": {"menuId": store["menu_ids"][0]},
        }

    def page(self, records: list[dict[str, Any]], request: Request) -> Reply:
        """Have the addresses of pages in `pagination`; of a last page there is no next one."""
        number, size = int(request.query.get("page", "1")), int(request.query.get("perPage", self.page_size))
        page, following = self.slice(records, (number - 1) * size, size)
        at = f"{self.base_url}{self.list_path}?perPage={size}&page="
        urls = {"first": f"{at}1", **({"next": f"{at}{number + 1}"} if following is not None else {})}
        return Reply(200, {"pagination": urls, "stores": page})


class Lightspeed(Stranger):
    """Lightspeed Restaurant K-Series: a login by Basic authentication; pages are numbered from 0.

    https://api-docs.lsk.lightspeed.app/prod/authentication
    https://api-docs.lsk.lightspeed.app/operation/operation-financial-apigetbusinesses
    """

    login_path = "/oauth/token"
    list_path = "/f/data/businesses"

    def login(self, request: Request) -> Reply:
        """Want Basic authentication and a grant type in a form."""
        challenge = {"WWW-Authenticate": 'Basic realm="oauth2/client"'}
        if request.basic is None:
            return Reply(401, {"error": "unauthorized", "error_description": "Full authentication required"}, challenge)
        if request.basic != PAIR:
            return self.refuse(401, headers=challenge)
        if not request.is_form or request.body.get("grant_type") != "client_credentials":
            return Reply(400, {"error": "invalid_request", "error_description": "Missing grant type"})
        return Reply(200, {"access_token": TOKEN, "token_type": "bearer", "expires_in": 3599, "scope": "financial-api"})

    def record(self, store: dict[str, Any]) -> dict[str, Any]:
        """Have the name of the business in the record, and the place below it."""
        return {
            "businessId": store["id"],
            "businessName": store["name"],
            "currencyCode": store["currency"],
            "location": {"country": "GB", "timezone": store["timezone"]},
            "menuIds": store["menu_ids"],
        }

    def page(self, records: list[dict[str, Any]], request: Request) -> Reply:
        """Give a page by its number; beyond the last one it is empty."""
        size = int(request.query.get("size", self.page_size))
        page, _ = self.slice(records, int(request.query.get("page", "0")) * size, size)
        return Reply(200, {"_embedded": {"businessList": page}, "_links": {"self": {"href": self.list_path}}})


class Clover(Stranger):
    """Clover: a login in JSON whose answer has a refresh token too; limit and offset, and no sign of the end.

    https://docs.clover.com/dev/docs/refresh-access-tokens
    https://docs.clover.com/clover-platform/docs/paginating-elements
    """

    login_path = "/oauth/v2/token"
    list_path = "/v3/merchants"

    def login(self, request: Request) -> Reply:
        """Want client_id and client_secret in JSON."""
        body = request.body
        if not request.is_json or not {"client_id", "client_secret"} <= body.keys():
            return Reply(400, {"message": "client_id and client_secret are required"})
        if (body["client_id"], body["client_secret"]) != PAIR:
            return self.refuse(401, {"message": "401 Unauthorized"})
        return Reply(
            200,
            {
                "refresh_token": "clvroar-refresh",
                "refresh_token_expiration": 1_826_000_000,
                "access_token": TOKEN,
                "access_token_expiration": 1_795_000_000,
            },
        )

    def record(self, store: dict[str, Any]) -> dict[str, Any]:
        """Have an owner with a name, and a default menu beside all of them."""
        return {
            "href": f"{self.list_path}/{store['id']}",
            "id": store["id"],
            "name": store["name"],
            "owner": {"name": "Jane", "id": 31},
            "defaultCurrency": store["currency"],
            "timezone": store["timezone"],
            "menus": {"elements": [{"id": menu_id} for menu_id in store["menu_ids"]]},
        }

    def page(self, records: list[dict[str, Any]], request: Request) -> Reply:
        """Give the elements from an offset on."""
        offset = request.query.get("offset", "0")
        page, _ = self.slice(records, int(offset), request.query.get("limit"))
        return Reply(200, {"elements": page, "href": f"{self.list_path}?limit={self.page_size}"})


class Shopify(Stranger):
    """Shopify: a token in a header of its own; Link headers; the details of one record in an envelope.

    https://shopify.dev/docs/apps/build/authentication-authorization/access-tokens/client-credentials-grant
    https://shopify.dev/docs/api/admin-rest/usage/pagination
    """

    prefix = "/admin"
    login_path = "/oauth/access_token"
    list_path = "/api/2026-10/locations.json"
    header = "x-shopify-access-token"

    def login(self, request: Request) -> Reply:
        """Take JSON or a form, with the client credentials grant."""
        body = request.body
        if not {"client_id", "client_secret"} <= body.keys() or body.get("grant_type") != "client_credentials":
            text = "client_id, client_secret and grant_type are required"
            return Reply(400, {"error": "invalid_request", "error_description": text})
        if (body["client_id"], body["client_secret"]) != PAIR:
            return self.refuse(400, {"error": "application_cannot_be_found"})
        return Reply(200, {"access_token": TOKEN, "scope": "read_locations", "expires_in": 86399})

    def is_known(self, request: Request) -> bool:
        """Look in the header of Shopify's own."""
        return request.headers.get(self.header) == TOKEN

    def stranger(self) -> Reply:
        """Refuse without naming the header."""
        return Reply(401, {"errors": "[API] Invalid API key or access token (unrecognized login or wrong password)"})

    def record(self, store: dict[str, Any]) -> dict[str, Any]:
        """Have some flags."""
        return {
            "id": store["id"],
            "name": store["name"],
            "active": True,
            "country_code": "CA",
            "currency": store["currency"],
            "iana_timezone": store["timezone"],
            "menu_ids": store["menu_ids"],
        }

    def page(self, records: list[dict[str, Any]], request: Request) -> Reply:
        """Name the next page in a Link header."""
        limit = request.query.get("limit")
        page, following = self.slice(records, int(request.query.get("page_info", "0")), limit)
        size = f"&limit={limit}" if limit else ""
        link = f'<{self.base_url}{self.prefix}{self.list_path}?page_info={following}{size}>; rel="next"'
        return Reply(200, {"locations": page}, {"Link": link} if following is not None else {})

    def detail(self, record: dict[str, Any]) -> Any:
        """Put one location in an envelope."""
        return {"location": record}

    def detail_path(self, request: Request) -> str | None:
        """Have details beside the list, with its ending."""
        start, end = "/api/2026-10/locations/", ".json"
        is_one = request.path.startswith(start) and request.path.endswith(end)
        return request.path.removeprefix(start).removesuffix(end) if is_one else None


class Stripe(Stranger):
    """Stripe: a secret key without a login; has_more, and the last record's id asks for what follows.

    https://docs.stripe.com/api/authentication
    https://docs.stripe.com/api/pagination
    """

    list_path = "/v1/locations"

    def is_known(self, request: Request) -> bool:
        """Take the secret key itself."""
        return request.headers.get("authorization") == f"Bearer {CLIENT_SECRET}"

    def stranger(self) -> Reply:
        """Say how to authenticate."""
        text = "Provide your API key in the Authorization header, using Bearer auth ('Authorization: Bearer KEY')."
        return Reply(401, {"error": {"type": "invalid_request_error", "message": text}}, {"WWW-Authenticate": "Bearer"})

    def record(self, store: dict[str, Any]) -> dict[str, Any]:
        """Have a type and metadata."""
        return {
            "id": store["id"],
            "object": "terminal.location",
            "display_name": store["name"],
            "livemode": False,
            "metadata": {"timezone": store["timezone"], "currency": store["currency"]},
            "menus": store["menu_ids"],
        }

    def page(self, records: list[dict[str, Any]], request: Request) -> Reply:
        """Give what follows a record, and whether there is more."""
        after = request.query.get("starting_after")
        ids = [str(record["id"]) for record in records]
        if after is not None and after not in ids:
            return Reply(400, {"error": {"param": "starting_after"}})
        first = 0 if after is None else ids.index(after) + 1
        page, following = self.slice(records, first, request.query.get("limit"))
        body = {"object": "list", "url": self.list_path, "has_more": following is not None, "data": page}
        return Reply(200, body)


class Cashfree(Stranger):
    """Cashfree Payouts: credentials in headers of the login, refusals with status 200, lastReturnId as a cursor.

    https://docs.cashfree.com/v3/reference/authorize
    https://dev.cashfree.com/payouts-api
    """

    login_path = "/payout/v1/authorize"
    list_path = "/payout/v1/stores"

    def login(self, request: Request) -> Reply:
        """Want X-Client-Id and X-Client-Secret; say with 200 that they are missing or wrong."""
        pair = request.headers.get("x-client-id"), request.headers.get("x-client-secret")
        if not all(pair):
            return Reply(200, _failed("400", "X-Client-Id and X-Client-Secret headers are required"))
        if pair != PAIR:
            self.refused_logins += 1
            return Reply(200, _failed("401", "Invalid clientId and clientSecret combination"))
        data = {"token": TOKEN, "expiry": 1_795_000_000}
        return Reply(200, {"status": "SUCCESS", "subCode": "200", "message": "Token generated", "data": data})

    def page(self, records: list[dict[str, Any]], request: Request) -> Reply:
        """Name the record after which the next page begins; the last page has no such member."""
        first = int(request.query.get("lastReturnId") or 0)
        page, following = self.slice(records, first, request.query.get("maxReturn"))
        data = {"stores": page, **({"lastReturnId": following} if following is not None else {})}
        return Reply(200, {"status": "SUCCESS", "subCode": "200", "data": data})

    def detail(self, record: dict[str, Any]) -> Any:
        """Put one store below data."""
        return {"status": "SUCCESS", "subCode": "200", "data": {"store": record}}


def _failed(code: str, message: str) -> dict[str, str]:
    return {"status": "ERROR", "subCode": code, "message": message}


SERVICES = (Square, Toast, UberEats, Deliverect, Uphold, Lightspeed, Clover, Shopify, Stripe, Cashfree)
