"""A round through the client that openapi-python-client has generated; prints what came, as JSON."""
import importlib
import json
import os
import pkgutil

import ringfence_client
from ringfence_client import AuthenticatedClient
from ringfence_client.api.events import get_v1_events
from ringfence_client.api.geofences import put_v1_geofences_by_tag_by_external_id as put_geofence
from ringfence_client.api.track import post_v1_track
from ringfence_client.api.users import get_v1_search_users, get_v1_users_by_id, get_v1_users_by_id_explain
from ringfence_client.models import GeofenceDefinition, PostV1TrackJsonBody

modules = [name for _, name, _ in pkgutil.walk_packages(ringfence_client.__path__, "ringfence_client.")]
for name in modules:
    importlib.import_module(name)


def client_of(key):
    return AuthenticatedClient(base_url=os.environ["URL"], token=key, raise_on_unexpected_status=True)


client = client_of(os.environ["SECRET"])
definition = GeofenceDefinition(
    description="Generated", type_="circle", coordinates=[9.52, 47.14], radius=100, user_ids=["ann"]
)
put = put_geofence.sync("generated", "one", client=client, body=definition)
body = PostV1TrackJsonBody(device_id="phone", user_id="ann", latitude=47.14, longitude=9.52, accuracy=10)
tracked = post_v1_track.sync(client=client, body=body)
explained = get_v1_users_by_id_explain.sync("ann", client=client)
events = get_v1_events.sync(client=client, user_id="ann", limit=1)
near = get_v1_search_users.sync(client=client, near="47.14,9.52", radius=500)
missing = get_v1_users_by_id.sync_detailed("nobody", client=client)
bad = put_geofence.sync_detailed(
    "generated", "bad", client=client, body=GeofenceDefinition(description="Bad", type_="circle", radius=1)
)
unknown = get_v1_events.sync_detailed(client=client_of("prj_test_sk_" + "9" * 40))

print(
    json.dumps(
        {
            "modules": len(modules),
            "put": put.to_dict(),
            "tracked": tracked.to_dict(),
            "explained": explained.to_dict(),
            "events": events.to_dict(),
            "near": near.to_dict(),
            "missing": [int(missing.status_code), missing.parsed.to_dict()],
            "bad": [int(bad.status_code), bad.parsed.to_dict()],
            "unknown": [int(unknown.status_code), unknown.parsed.to_dict()],
        }
    )
)
