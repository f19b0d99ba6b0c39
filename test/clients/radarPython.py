"""Every public call of radar-python, unmodified but for the address. Prints what came, as JSON."""
import json
import os

import requests
from radar import RadarClient, errors

client = RadarClient(secret_key=os.environ["SECRET"], pub_key=os.environ["PUBLISHABLE"])
client.api_requester.BASE_URL = os.environ["URL"] + "/"
place = (47.14, 9.52)
answers = {}
bodies = {}
send = requests.Session.send


def noted(session, request, **options):
    """Sends a request as it is, and notes the form of its body."""
    if request.body is not None:
        kind = request.headers.get("Content-Type")
        bodies.setdefault(kind, []).append(f"{request.method} {request.path_url}")
    return send(session, request, **options)


requests.Session.send = noted


def kept(name, call):
    """What a call gives, as its class says it; or the class of its error."""
    try:
        value = call()
    except errors.RadarError as error:
        answers[name] = {"error": type(error).__name__, "code": error.status_code}
        return None
    except requests.HTTPError as error:
        # What the library has no class for.
        answers[name] = {"error": "HTTPError", "code": error.response.status_code}
        return None
    one = value[0] if isinstance(value, list) and value else value
    raw = getattr(value, "raw_json", None)
    if isinstance(value, list):
        raw = [item.raw_json for item in value]
    answers[name] = {"class": type(one).__name__, "value": value if raw is None else raw, "shown": repr(one)}
    return value


circle = {
    "description": "Main Street",
    "type": "circle",
    "coordinates": [9.52, 47.14],
    "radius": 100,
    "tag": "store",
    "externalId": "1",
    "enabled": True,
}
ring = [[9.5, 47.1], [9.6, 47.1], [9.6, 47.2], [9.5, 47.1]]
created = kept("geofences.create", lambda: client.geofences.create(circle))
kept("geofences.create again", lambda: client.geofences.create(circle))
kept("geofences.upsert", lambda: client.geofences.upsert("store", "1", {**circle, "description": "Side Street"}))
kept(
    "geofences.upsert polygon",
    lambda: client.geofences.upsert(
        "area", "p", {"description": "Area", "type": "polygon", "coordinates": json.dumps(ring)}
    ),
)
kept("geofences.upsert bad", lambda: client.geofences.upsert("store", "1", {**circle, "radius": 1}))
kept("geofences.create incomplete", lambda: client.geofences.create({"type": "circle"}))
kept("geofences.list", lambda: client.geofences.list(limit=10, tag="store"))
kept("geofences.get", lambda: client.geofences.get(tag="store", externalId="1"))
kept("geofences.get by id", lambda: client.geofences.get(id=created.raw_json["_id"]))
kept("geofences.get nothing", lambda: client.geofences.get(tag="store", externalId="none"))
kept("geofences.list_users", lambda: client.geofences.list_users(tag="store", externalId="1"))
kept("geofences.list_users by id", lambda: client.geofences.list_users(id=created.raw_json["_id"]))

kept("users.list", lambda: client.users.list(limit=5))
kept("users.get", lambda: client.users.get(userId="ann"))
events = kept("events.list", lambda: client.events.list(limit=5))
event = events[0].raw_json["_id"]
kept("events.get", lambda: client.events.get(event))
kept("events.verify", lambda: client.events.verify(event, "accept"))
kept("context.get", lambda: client.context.get(place))
kept("geocode.forward", lambda: client.geocode.forward("Vaduz"))
kept("geocode.reverse", lambda: client.geocode.reverse(place))
kept("geocode.ip", lambda: client.geocode.ip("8.8.8.8"))
kept("search.users", lambda: client.search.users(place, radius=500, limit=3))
kept("search.geofences", lambda: client.search.geofences(place, tags="store", limit=3))
kept("search.places", lambda: client.search.places(place, chains="starbucks"))
kept("search.autocomplete", lambda: client.search.autocomplete("Vad", place))
kept("route.distance", lambda: client.route.distance(place, (47.15, 9.53), "car,foot"))

kept("events.delete", lambda: client.events.delete(event))
kept("users.delete", lambda: client.users.delete(userId="ann"))
kept("geofences.delete", lambda: client.geofences.delete(tag="store", externalId="1"))

client.api_requester.secret_key = "prj_test_sk_" + "9" * 40
kept("unknown key", lambda: client.users.list())
client.api_requester.secret_key = os.environ["PUBLISHABLE"]
kept("publishable key", lambda: client.users.list())

print(json.dumps({"answers": answers, "bodies": bodies}))
