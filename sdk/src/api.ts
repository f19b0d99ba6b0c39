/** What the API takes and answers: written by `npm run sdk:types`, not by hand. */

export interface paths {
    "/v1/track": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Track a location update */
        post: operations["postV1Track"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/track/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Track updates that were recorded earlier */
        post: operations["postV1TrackReplay"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List events */
        get: operations["getV1Events"];
        put?: never;
        /** Send a custom event (a conversion) */
        post: operations["postV1Events"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the context of a location */
        get: operations["getV1Context"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/config": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the configuration of an SDK */
        get: operations["getV1Config"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send the logs of an SDK */
        post: operations["postV1Logs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/search/autocomplete/click": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Report which completion was chosen */
        post: operations["postV1SearchAutocompleteClick"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sync/region": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Get the geofences, places and beacons around a location, for an SDK to monitor */
        post: operations["postV1SyncRegion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List users, newest first */
        get: operations["getV1Users"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a user */
        get: operations["getV1UsersById"];
        put?: never;
        post?: never;
        /** Delete a user */
        delete: operations["deleteV1UsersById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{id}/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Explain the last update of a user */
        get: operations["getV1UsersByIdExplain"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/search/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Search users near a location */
        get: operations["getV1SearchUsers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/geofences/{id}/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the users inside a geofence, by its id */
        get: operations["getV1GeofencesByIdUsers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/geofences/{tag}/{externalId}/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the users inside a geofence, by its pair */
        get: operations["getV1GeofencesByTagByExternalIdUsers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/beacons/{id}/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the users in range of a beacon, by its id */
        get: operations["getV1BeaconsByIdUsers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/beacons/{tag}/{externalId}/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the users in range of a beacon, by its pair */
        get: operations["getV1BeaconsByTagByExternalIdUsers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/trips": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List trips */
        get: operations["getV1Trips"];
        put?: never;
        /** Create a trip */
        post: operations["postV1Trips"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/trips/{id}/update": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Change a trip */
        patch: operations["patchV1TripsByIdUpdate"];
        trace?: never;
    };
    "/v1/trips/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a trip */
        get: operations["getV1TripsById"];
        put?: never;
        post?: never;
        /** Delete a trip */
        delete: operations["deleteV1TripsById"];
        options?: never;
        head?: never;
        /** Change or create a trip */
        patch: operations["patchV1TripsById"];
        trace?: never;
    };
    "/v1/trips/{id}/legs/{legId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Change the status of a leg */
        patch: operations["patchV1TripsByIdLegsByLegId"];
        trace?: never;
    };
    "/v1/trips/{id}/legs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Order the legs of a trip */
        put: operations["putV1TripsByIdLegs"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/trips/{id}/route": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the route of a trip */
        get: operations["getV1TripsByIdRoute"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/exports/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Export events */
        get: operations["getV1ExportsEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/counts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count events per interval and type */
        get: operations["getV1EventsCounts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an event */
        get: operations["getV1EventsById"];
        put?: never;
        post?: never;
        /** Delete an event */
        delete: operations["deleteV1EventsById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/{id}/verification": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Accept or reject an event */
        put: operations["putV1EventsByIdVerification"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/geofences": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List geofences, newest first */
        get: operations["getV1Geofences"];
        put?: never;
        /** Create a geofence */
        post: operations["postV1Geofences"];
        /** Delete all geofences that match a filter */
        delete: operations["deleteV1Geofences"];
        options?: never;
        head?: never;
        /** Change all geofences that match a filter */
        patch: operations["patchV1Geofences"];
        trace?: never;
    };
    "/v1/geofences/{tag}/{externalId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a geofence by its pair */
        get: operations["getV1GeofencesByTagByExternalId"];
        /** Create or replace a geofence by its pair */
        put: operations["putV1GeofencesByTagByExternalId"];
        post?: never;
        /** Delete a geofence by its pair */
        delete: operations["deleteV1GeofencesByTagByExternalId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/geofences/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a geofence by its id */
        get: operations["getV1GeofencesById"];
        /** Replace a geofence by its id */
        put: operations["putV1GeofencesById"];
        post?: never;
        /** Delete a geofence by its id */
        delete: operations["deleteV1GeofencesById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/search/geofences": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find the enabled geofences nearest to a point */
        get: operations["getV1SearchGeofences"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/geofences/tiles/{z}/{x}/{y}.mvt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A vector tile of the geofences */
        get: operations["getV1GeofencesTilesByZByXByYMvt"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/density": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count the devices in a box by cells */
        get: operations["getV1UsersDensity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/beacons": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List beacons, newest first */
        get: operations["getV1Beacons"];
        put?: never;
        /** Create a beacon */
        post: operations["postV1Beacons"];
        /** Delete all beacons that match a filter */
        delete: operations["deleteV1Beacons"];
        options?: never;
        head?: never;
        /** Change all beacons that match a filter */
        patch: operations["patchV1Beacons"];
        trace?: never;
    };
    "/v1/beacons/{tag}/{externalId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a beacon by its pair */
        get: operations["getV1BeaconsByTagByExternalId"];
        /** Create or replace a beacon by its pair */
        put: operations["putV1BeaconsByTagByExternalId"];
        post?: never;
        /** Delete a beacon by its pair */
        delete: operations["deleteV1BeaconsByTagByExternalId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/beacons/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a beacon by its id */
        get: operations["getV1BeaconsById"];
        /** Replace a beacon by its id */
        put: operations["putV1BeaconsById"];
        post?: never;
        /** Delete a beacon by its id */
        delete: operations["deleteV1BeaconsById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/search/beacons": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find the enabled beacons nearest to a point */
        get: operations["getV1SearchBeacons"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/imports/geofences": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List imports of geofences, newest first */
        get: operations["getV1ImportsGeofences"];
        put?: never;
        /** Import geofences from a CSV or GeoJSON file */
        post: operations["postV1ImportsGeofences"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/imports/geofences/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an import of geofences with the rows that it refused */
        get: operations["getV1ImportsGeofencesById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/imports/geofences/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel a running import of geofences */
        post: operations["postV1ImportsGeofencesByIdCancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/imports/geofences/{id}/refused": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the rows that an import of geofences refused, as CSV */
        get: operations["getV1ImportsGeofencesByIdRefused"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/imports/beacons": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List imports of beacons, newest first */
        get: operations["getV1ImportsBeacons"];
        put?: never;
        /** Import beacons from a CSV file */
        post: operations["postV1ImportsBeacons"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/imports/beacons/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an import of beacons with the rows that it refused */
        get: operations["getV1ImportsBeaconsById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/imports/beacons/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel a running import of beacons */
        post: operations["postV1ImportsBeaconsByIdCancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/imports/beacons/{id}/refused": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the rows that an import of beacons refused, as CSV */
        get: operations["getV1ImportsBeaconsByIdRefused"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/exports/geofences": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Export geofences */
        get: operations["getV1ExportsGeofences"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/exports/beacons": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Export beacons */
        get: operations["getV1ExportsBeacons"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the environment's settings */
        get: operations["getV1Settings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Change settings */
        patch: operations["patchV1Settings"];
        trace?: never;
    };
    "/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the environment's keys */
        get: operations["getV1Keys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys/{kind}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Replace a key */
        post: operations["postV1KeysByKindRotate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sign-in": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the ways to sign in */
        get: operations["getV1SignIn"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List sessions, the latest used first */
        get: operations["getV1Sessions"];
        put?: never;
        /** Sign in */
        post: operations["postV1Sessions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/current": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who has signed in */
        get: operations["getV1SessionsCurrent"];
        put?: never;
        post?: never;
        /** Sign out */
        delete: operations["deleteV1SessionsCurrent"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** End a session */
        delete: operations["deleteV1SessionsById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/current/ticket": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Get a ticket for a stream */
        post: operations["postV1SessionsCurrentTicket"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/account/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Change your password */
        put: operations["putV1AccountPassword"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/invitations/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Accept an invitation */
        post: operations["postV1InvitationsByToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the project’s accounts */
        get: operations["getV1Accounts"];
        put?: never;
        /** Create an account */
        post: operations["postV1Accounts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Delete an account */
        delete: operations["deleteV1AccountsById"];
        options?: never;
        head?: never;
        /** Change an account */
        patch: operations["patchV1AccountsById"];
        trace?: never;
    };
    "/v1/accounts/{id}/invitation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Make a new link for an account */
        post: operations["postV1AccountsByIdInvitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List what was changed, newest first */
        get: operations["getV1Audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/geofence-sync": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the settings of the geofence sync */
        get: operations["getV1GeofenceSync"];
        /** Set up the geofence sync */
        put: operations["putV1GeofenceSync"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/geofence-sync/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Try the sources of the geofence sync */
        post: operations["postV1GeofenceSyncTest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/geofence-sync/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List runs of the geofence sync, newest first */
        get: operations["getV1GeofenceSyncRuns"];
        put?: never;
        /** Run the geofence sync now */
        post: operations["postV1GeofenceSyncRuns"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/geofence-sync/runs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a run of the geofence sync with the rows that it refused */
        get: operations["getV1GeofenceSyncRunsById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/geofence-sync/runs/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End a run of the geofence sync */
        post: operations["postV1GeofenceSyncRunsByIdCancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/notifications/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send a test e-mail */
        post: operations["postV1NotificationsTest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/route/distance": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get distance and duration between two points */
        get: operations["getV1RouteDistance"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/route/matrix": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get distances and durations between many points */
        get: operations["getV1RouteMatrix"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/route/match": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Snap a path to roads */
        post: operations["postV1RouteMatch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/route/directions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get directions through locations in the given order */
        get: operations["getV1RouteDirections"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/route/optimize": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the order of stops that takes the least time */
        get: operations["getV1RouteOptimize"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/route/isochrone": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the area from which a point can be reached in some minutes */
        get: operations["getV1RouteIsochrone"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/addresses/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Validate an address of the United States or Canada */
        get: operations["getV1AddressesValidate"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/search/places": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find places near a point */
        get: operations["getV1SearchPlaces"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/geocode/forward": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find where an address or a place is */
        get: operations["getV1GeocodeForward"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/geocode/reverse": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find what is at a point */
        get: operations["getV1GeocodeReverse"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/search/autocomplete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Complete an address or a name as it is typed */
        get: operations["getV1SearchAutocomplete"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/geocode/ip": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Find where the requester is, by the IP address */
        get: operations["getV1GeocodeIp"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/maps/styles/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A style of the map */
        get: operations["getV1MapsStylesById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/maps/tiles/{z}/{x}/{y}.mvt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A vector tile of the map */
        get: operations["getV1MapsTilesByZByXByYMvt"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/maps/glyphs/{fontstack}/{range}.pbf": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Letters of a font, for maps */
        get: operations["getV1MapsGlyphsByFontstackByRangePbf"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/maps/sprites/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Icons for maps */
        get: operations["getV1MapsSpritesByName"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The process is alive */
        get: operations["getHealthz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The process accepts requests */
        get: operations["getReadyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Metrics in the Prometheus text format */
        get: operations["getMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Count updates and events of the environment over time */
        get: operations["getV1Stats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/map-regions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the imported map regions */
        get: operations["getV1MapRegions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/map-regions/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Import a map region */
        put: operations["putV1MapRegionsByName"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/map-regions/imports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List imports of map regions over HTTP, newest first */
        get: operations["getV1MapRegionsImports"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/map-regions/imports/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an import of a map region with its progress */
        get: operations["getV1MapRegionsImportsById"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/map-regions/imports/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel the import of a map region */
        post: operations["postV1MapRegionsImportsByIdCancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/system": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the state of the server */
        get: operations["getV1System"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/simulations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the simulated city */
        get: operations["getV1Simulations"];
        put?: never;
        /** Simulate a city */
        post: operations["postV1Simulations"];
        /** End the simulated city */
        delete: operations["deleteV1Simulations"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/asyncapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A description of streams and webhooks */
        get: operations["getV1AsyncapiJson"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List webhooks */
        get: operations["getV1Webhooks"];
        put?: never;
        /** Create a webhook */
        post: operations["postV1Webhooks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a webhook */
        get: operations["getV1WebhooksById"];
        put?: never;
        post?: never;
        /** Delete a webhook */
        delete: operations["deleteV1WebhooksById"];
        options?: never;
        head?: never;
        /** Change a webhook */
        patch: operations["patchV1WebhooksById"];
        trace?: never;
    };
    "/v1/webhooks/{id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Replace the secret */
        post: operations["postV1WebhooksByIdRotate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Enable a webhook again */
        post: operations["postV1WebhooksByIdEnable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send a sample event now */
        post: operations["postV1WebhooksByIdTest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List deliveries, newest first */
        get: operations["getV1WebhooksByIdDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}/redeliver": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send again */
        post: operations["postV1WebhooksByIdRedeliver"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/hooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List hooks, newest first */
        get: operations["getV1Hooks"];
        put?: never;
        /** Create a hook */
        post: operations["postV1Hooks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/hooks/{tag}/{externalId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a hook by its pair */
        get: operations["getV1HooksByTagByExternalId"];
        /** Create or replace a hook by its pair */
        put: operations["putV1HooksByTagByExternalId"];
        post?: never;
        /** Delete a hook by its pair */
        delete: operations["deleteV1HooksByTagByExternalId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/hooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a hook by its id */
        get: operations["getV1HooksById"];
        /** Replace a hook by its id */
        put: operations["putV1HooksById"];
        post?: never;
        /** Delete a hook by its id */
        delete: operations["deleteV1HooksById"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This description of the API */
        get: operations["getV1OpenapiJson"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Error: {
            meta: {
                /** @description The HTTP status. */
                code: number;
                /** @description The offending parameter. */
                param?: string;
                message: string;
                /** @description On 429: the window that was exceeded. */
                type?: string;
            };
        };
        /** Leg */
        Leg: {
            _id: string;
            /** @enum {string} */
            status: "pending" | "started" | "approaching" | "arrived" | "completed" | "canceled" | "expired";
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            updatedAt: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            arrivedAt?: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            completedAt?: string;
            eta?: {
                /** @description Minutes, with one decimal. */
                duration: number;
                /** @description Metres. */
                distance: number;
                /**
                 * @description `straight`: 1.3 times the straight line, because the routing engine has no answer.
                 * @enum {string}
                 */
                source: "road" | "straight";
            };
            /** @description Minutes. */
            stopDuration: number;
            metadata?: {
                [key: string]: string | boolean | number;
            };
            destination: {
                /** @enum {string} */
                type: "geofence" | "address" | "coordinates";
                source: {
                    /** @description The `_id` of a geofence. */
                    geofence?: string;
                    data: {
                        tag: string;
                        externalId: string;
                    } | string | number[];
                };
                location?: {
                    /** @constant */
                    type: "Point";
                    /** @description [longitude, latitude] */
                    coordinates: number[];
                };
                /** @description Metres. */
                arrivalRadius?: number;
            };
            destinationGeofenceTag?: string;
            destinationGeofenceExternalId?: string;
            destinationGeofenceId?: string;
            address?: string;
        };
        /** TripContext */
        TripContext: {
            _id: string;
            live: boolean;
            externalId: string;
            userId?: string;
            metadata?: {
                [key: string]: string | boolean | number;
            };
            /** @enum {string} */
            mode: "car" | "truck" | "foot" | "bike" | "motorbike";
            /** @enum {string} */
            status: "pending" | "started" | "approaching" | "arrived" | "completed" | "canceled" | "expired";
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            updatedAt: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            startedAt?: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            arrivedAt?: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            completedAt?: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            endedAt?: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            scheduledArrivalAt?: string;
            /** @description Minutes; the value that was set for this trip. */
            approachingThreshold?: number;
            destinationGeofenceTag?: string;
            destinationGeofenceExternalId?: string;
            destinationLocation?: {
                /** @constant */
                type: "Point";
                /** @description [longitude, latitude] */
                coordinates: number[];
            };
            eta?: {
                /** @description Minutes, with one decimal. */
                duration: number;
                /** @description Metres. */
                distance: number;
                /**
                 * @description `straight`: 1.3 times the straight line, because the routing engine has no answer.
                 * @enum {string}
                 */
                source: "road" | "straight";
            };
            delay?: {
                delayed: boolean;
                /** @description Minutes, with one decimal. */
                scheduledArrivalTimeDelay: number;
            };
            legs?: components["schemas"]["Leg"][];
            /** @description The `_id` of the leg whose destination is the trip’s. */
            currentLeg?: string;
            currentLegId?: string;
        };
        /** User */
        User: {
            _id: string;
            live: boolean;
            userId?: string;
            deviceId: string;
            description?: string;
            metadata?: {
                [key: string]: string | boolean | number;
            };
            location: {
                /** @constant */
                type: "Point";
                /** @description [longitude, latitude] */
                coordinates: number[];
            };
            /** @description Metres. */
            locationAccuracy?: number;
            foreground: boolean;
            stopped: boolean;
            deviceType?: string;
            deviceOS?: string;
            deviceMake?: string;
            deviceModel?: string;
            /** @description What made an SDK send its last update. */
            source?: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            updatedAt: string;
            /**
             * Format: date-time
             * @description When the server received the last update, by the server’s clock.
             */
            actualUpdatedAt: string;
            ip: string;
            geofences: {
                _id: string;
                tag: string;
                externalId: string;
                description: string;
                metadata?: {
                    [key: string]: string | boolean | number;
                };
                /** @enum {string} */
                type: "circle" | "polygon" | "isochrone";
                geometryCenter: {
                    /** @constant */
                    type: "Point";
                    /** @description [longitude, latitude] */
                    coordinates: number[];
                };
                /** @description In metres: the radius of the circle, or of a circle around the polygon. */
                geometryRadius: number;
            }[];
            beacons: {
                _id: string;
                /** @enum {string} */
                type: "ibeacon" | "eddystone";
                uuid?: string;
                major?: string;
                minor?: string;
                uid?: string;
                instance?: string;
                description: string;
                tag?: string;
                externalId?: string;
                enabled: boolean;
                metadata?: {
                    [key: string]: string | boolean | number;
                };
            }[];
            trip?: components["schemas"]["TripContext"];
            /** @description Borders: © OpenStreetMap contributors. If you show it to others, show this credit. */
            country?: {
                _id: string;
                /** @enum {unknown} */
                type: "country" | "state" | "dma" | "postalCode";
                /**
                 * @example US
                 * @example NY
                 * @example 501
                 * @example 11201
                 */
                code: string;
                name: string;
                /** @description Only for a country: its flag, as an emoji. */
                flag?: string;
            };
            state?: {
                _id: string;
                /** @enum {unknown} */
                type: "country" | "state" | "dma" | "postalCode";
                /**
                 * @example US
                 * @example NY
                 * @example 501
                 * @example 11201
                 */
                code: string;
                name: string;
                /** @description Only for a country: its flag, as an emoji. */
                flag?: string;
            };
            dma?: {
                _id: string;
                /** @enum {unknown} */
                type: "country" | "state" | "dma" | "postalCode";
                /**
                 * @example US
                 * @example NY
                 * @example 501
                 * @example 11201
                 */
                code: string;
                name: string;
                /** @description Only for a country: its flag, as an emoji. */
                flag?: string;
            };
            postalCode?: {
                _id: string;
                /** @enum {unknown} */
                type: "country" | "state" | "dma" | "postalCode";
                /**
                 * @example US
                 * @example NY
                 * @example 501
                 * @example 11201
                 */
                code: string;
                name: string;
                /** @description Only for a country: its flag, as an emoji. */
                flag?: string;
            };
            place?: {
                _id: string;
                name: string;
                /** @description Slugs, root first. */
                categories: string[];
                location: {
                    /** @constant */
                    type: "Point";
                    /** @description [longitude, latitude] */
                    coordinates: number[];
                };
                chain?: {
                    name: string;
                    slug: string;
                    domain?: string;
                    /** @description Your own id of the chain, from the setting chainMappings. */
                    externalId?: string;
                    metadata?: {
                        [key: string]: string | boolean | number;
                    };
                };
            };
            /** @description The chains of the setting nearbyPlaceChains that are near. */
            nearbyPlaceChains?: {
                name: string;
                slug: string;
                domain?: string;
                /** @description Your own id of the chain, from the setting chainMappings. */
                externalId?: string;
                metadata?: {
                    [key: string]: string | boolean | number;
                };
            }[];
            fraud?: {
                /** @description False if blocked, or if any flag is raised and the user is not bypassed. */
                passed: boolean;
                bypassed: boolean;
                verified: boolean;
                blocked: boolean;
                mocked: boolean;
                jumped: boolean;
                compromised: boolean;
                inaccurate: boolean;
                proxy: boolean;
                sharing: boolean;
                lastMockedAt: string | null;
                lastJumpedAt: string | null;
                lastCompromisedAt: string | null;
                lastInaccurateAt: string | null;
                lastProxyAt: string | null;
                lastSharingAt: string | null;
            };
            /** @description The segments of the settings to which the user belongs, by the last update. */
            segments: {
                description: string;
                externalId: string;
            }[];
            /** @description The chains that were visited most often, at most five. */
            topChains: {
                name: string;
                slug: string;
                externalId?: string;
            }[];
        };
        /** Event */
        Event: {
            _id: string;
            /**
             * @description The type of the event; for a conversion, its name.
             * @example user.entered_geofence
             */
            type: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            actualCreatedAt: string;
            live: boolean;
            user: {
                /** @description For a conversion of a device that has not sent a location, this is an id that no user has. */
                _id: string;
                userId?: string;
                /** @description Absent if no device has moved the trip of the event yet. */
                deviceId?: string;
                metadata?: {
                    [key: string]: string | boolean | number;
                };
            };
            geofence?: {
                _id: string;
                tag: string;
                externalId: string;
                description: string;
                metadata?: {
                    [key: string]: string | boolean | number;
                };
                /** @enum {string} */
                type: "circle" | "polygon" | "isochrone";
                geometryCenter: {
                    /** @constant */
                    type: "Point";
                    /** @description [longitude, latitude] */
                    coordinates: number[];
                };
                /** @description In metres: the radius of the circle, or of a circle around the polygon. */
                geometryRadius: number;
            };
            beacon?: {
                _id: string;
                /** @enum {string} */
                type: "ibeacon" | "eddystone";
                uuid?: string;
                major?: string;
                minor?: string;
                uid?: string;
                instance?: string;
                description: string;
                tag?: string;
                externalId?: string;
                enabled: boolean;
                metadata?: {
                    [key: string]: string | boolean | number;
                };
            };
            trip?: components["schemas"]["TripContext"];
            region?: {
                _id: string;
                /** @enum {unknown} */
                type: "country" | "state" | "dma" | "postalCode";
                /**
                 * @example US
                 * @example NY
                 * @example 501
                 * @example 11201
                 */
                code: string;
                name: string;
                /** @description Only for a country: its flag, as an emoji. */
                flag?: string;
            };
            place?: {
                _id: string;
                name: string;
                /** @description Slugs, root first. */
                categories: string[];
                location: {
                    /** @constant */
                    type: "Point";
                    /** @description [longitude, latitude] */
                    coordinates: number[];
                };
                chain?: {
                    name: string;
                    slug: string;
                    domain?: string;
                    /** @description Your own id of the chain, from the setting chainMappings. */
                    externalId?: string;
                    metadata?: {
                        [key: string]: string | boolean | number;
                    };
                };
            };
            /** @description On entries into places: the other places in which the user might be, the most likely first. */
            alternatePlaces?: {
                _id: string;
                name: string;
                /** @description Slugs, root first. */
                categories: string[];
                location: {
                    /** @constant */
                    type: "Point";
                    /** @description [longitude, latitude] */
                    coordinates: number[];
                };
                chain?: {
                    name: string;
                    slug: string;
                    domain?: string;
                    /** @description Your own id of the chain, from the setting chainMappings. */
                    externalId?: string;
                    metadata?: {
                        [key: string]: string | boolean | number;
                    };
                };
            }[];
            fraud?: {
                /** @description False if blocked, or if any flag is raised and the user is not bypassed. */
                passed: boolean;
                bypassed: boolean;
                verified: boolean;
                blocked: boolean;
                mocked: boolean;
                jumped: boolean;
                compromised: boolean;
                inaccurate: boolean;
                proxy: boolean;
                sharing: boolean;
                lastMockedAt: string | null;
                lastJumpedAt: string | null;
                lastCompromisedAt: string | null;
                lastInaccurateAt: string | null;
                lastProxyAt: string | null;
                lastSharingAt: string | null;
            };
            /** @description Why the user failed. */
            failureReasons?: ("fraud_mocked_from_mock_provider" | "fraud_mocked_inconsistent_ip_country" | "fraud_jumped_single_device" | "fraud_compromised_reported" | "fraud_inaccurate_exceeded_accuracy_threshold" | "fraud_proxy_known_proxy_ip" | "fraud_sharing_reported" | "fraud_blocked_user_id" | "fraud_blocked_device_id" | "fraud_blocked_ip")[];
            location?: {
                /** @constant */
                type: "Point";
                /** @description [longitude, latitude] */
                coordinates: number[];
            };
            /** @description Metres. */
            locationAccuracy?: number;
            /** @description 1 low, 2 medium, 3 high; 3 on conversions, which lack the following fields. */
            confidence: number;
            currentlyOperating?: boolean;
            /** @description Minutes since entry; on exits. */
            duration?: number;
            replayed?: boolean;
            foreground?: boolean;
            stopped?: boolean;
            metadata?: {
                [key: string]: string | boolean | number;
            };
            /** @description The verification by a client: 1 accepted, -1 rejected. */
            verification?: number;
            verifiedPlaceId?: string;
        };
        /** Beacon */
        Beacon: {
            /** @description 24 hexadecimal digits; edits do not change it. */
            _id: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            updatedAt: string;
            live: boolean;
            tag?: string;
            externalId?: string;
            description: string;
            /** @enum {unknown} */
            type: "ibeacon" | "eddystone";
            /** @description ibeacon. */
            uuid?: string;
            /** @description ibeacon; a number as text. */
            major?: string;
            /** @description ibeacon; a number as text. */
            minor?: string;
            /** @description eddystone: the namespace. */
            uid?: string;
            /** @description eddystone. */
            instance?: string;
            geometry: {
                /** @constant */
                type: "Point";
                /** @description [longitude, latitude] */
                coordinates: number[];
            };
            enabled: boolean;
            metadata?: {
                [key: string]: string | number | boolean;
            };
            /** @description Metres; in searches. */
            distance?: number;
        };
        /** Geofence */
        Geofence: {
            /** @description 24 hexadecimal digits; edits do not change it. */
            _id: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            updatedAt: string;
            live: boolean;
            tag: string;
            externalId: string;
            description: string;
            /** @enum {unknown} */
            type: "circle" | "polygon" | "isochrone";
            geometry?: {
                /** @constant */
                type: "Polygon";
                coordinates: number[][][];
            };
            geometryCenter: {
                /** @constant */
                type: "Point";
                /** @description [longitude, latitude] */
                coordinates: number[];
            };
            /** @description In metres: the radius of the circle, or of a circle around the polygon; 0 while an isochrone has no area. */
            geometryRadius: number;
            mode?: string;
            /** @description State of an isochrone, whose area is computed in the background. Until it is ready there is no `geometry`, and no device is inside. */
            isochrone?: {
                /** @description [longitude, latitude] */
                destination: number[];
                minutes: number;
                /** @enum {unknown} */
                status: "pending" | "ready" | "failed";
                /**
                 * Format: date-time
                 * @example 2026-11-20T04:21:00.123Z
                 */
                computedAt?: string;
                /** @description Why the last attempt to compute it failed. */
                failure?: string;
            };
            metadata?: {
                [key: string]: string | number | boolean;
            };
            userId?: string;
            userIds?: string[];
            ip?: string;
            enabled: boolean;
            operatingHours?: {
                [key: string]: string[][];
            };
            stopDetection?: boolean;
            /** @description Minutes. */
            dwellThreshold?: number;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            disableAfter?: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            deleteAfter?: string;
            placeId?: string;
            /** @description Minutes. */
            tripApproachingThreshold?: number;
            /** @description Metres to the boundary, 0 inside; in searches. */
            distance?: number;
        };
        /** Conversion */
        Conversion: {
            _id: string;
            /**
             * @description The type of the event; for a conversion, its name.
             * @example user.entered_geofence
             */
            type: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            actualCreatedAt: string;
            live: boolean;
            location?: {
                /** @constant */
                type: "Point";
                /** @description [longitude, latitude] */
                coordinates: number[];
            };
            /** @description Metres. */
            locationAccuracy?: number;
            /** @description 1 low, 2 medium, 3 high; 3 on conversions, which lack the following fields. */
            confidence: number;
            metadata?: {
                [key: string]: string | boolean | number;
            };
            user: {
                /** @description For a conversion of a device that has not sent a location, this is an id that no user has. */
                _id: string;
                userId?: string;
                /** @description Absent if the event was sent with a publishable key and without a user. */
                deviceId?: string;
                metadata?: {
                    [key: string]: string | boolean | number;
                };
            };
        };
        /** Trip */
        Trip: {
            _id: string;
            live: boolean;
            externalId: string;
            userId?: string;
            metadata?: {
                [key: string]: string | boolean | number;
            };
            /** @enum {string} */
            mode: "car" | "truck" | "foot" | "bike" | "motorbike";
            /** @enum {string} */
            status: "pending" | "started" | "approaching" | "arrived" | "completed" | "canceled" | "expired";
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            updatedAt: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            startedAt?: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            arrivedAt?: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            completedAt?: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            endedAt?: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            scheduledArrivalAt?: string;
            /** @description Minutes; the value that was set for this trip. */
            approachingThreshold?: number;
            destinationGeofenceTag?: string;
            destinationGeofenceExternalId?: string;
            destinationLocation?: {
                /** @constant */
                type: "Point";
                /** @description [longitude, latitude] */
                coordinates: number[];
            };
            eta?: {
                /** @description Minutes, with one decimal. */
                duration: number;
                /** @description Metres. */
                distance: number;
                /**
                 * @description `straight`: 1.3 times the straight line, because the routing engine has no answer.
                 * @enum {string}
                 */
                source: "road" | "straight";
            };
            delay?: {
                delayed: boolean;
                /** @description Minutes, with one decimal. */
                scheduledArrivalTimeDelay: number;
            };
            legs?: components["schemas"]["Leg"][];
            /** @description The `_id` of the leg whose destination is the trip’s. */
            currentLeg?: string;
            currentLegId?: string;
            /** @description The user who moved the trip last; before that, the latest record of its `userId`. With a publishable key, only if the `userId` in the body is that of the trip. */
            user?: {
                _id: string;
                userId?: string;
                deviceId: string;
            };
            /** @description The locations of the trip, oldest first. Empty with a publishable key. */
            locations: {
                /** @constant */
                type: "Point";
                /** @description [longitude, latitude] */
                coordinates: number[];
                /**
                 * Format: date-time
                 * @example 2026-11-20T04:21:00.123Z
                 */
                updatedAt: string;
            }[];
        };
        /** TripEvent */
        TripEvent: {
            _id: string;
            /**
             * @description The type of the event; for a conversion, its name.
             * @example user.entered_geofence
             */
            type: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            actualCreatedAt: string;
            live: boolean;
            user?: {
                /** @description For a conversion of a device that has not sent a location, this is an id that no user has. */
                _id: string;
                userId?: string;
                /** @description Absent if no device has moved the trip of the event yet. */
                deviceId?: string;
                metadata?: {
                    [key: string]: string | boolean | number;
                };
            };
            geofence?: {
                _id: string;
                tag: string;
                externalId: string;
                description: string;
                metadata?: {
                    [key: string]: string | boolean | number;
                };
                /** @enum {string} */
                type: "circle" | "polygon" | "isochrone";
                geometryCenter: {
                    /** @constant */
                    type: "Point";
                    /** @description [longitude, latitude] */
                    coordinates: number[];
                };
                /** @description In metres: the radius of the circle, or of a circle around the polygon. */
                geometryRadius: number;
            };
            beacon?: {
                _id: string;
                /** @enum {string} */
                type: "ibeacon" | "eddystone";
                uuid?: string;
                major?: string;
                minor?: string;
                uid?: string;
                instance?: string;
                description: string;
                tag?: string;
                externalId?: string;
                enabled: boolean;
                metadata?: {
                    [key: string]: string | boolean | number;
                };
            };
            trip: components["schemas"]["TripContext"];
            region?: {
                _id: string;
                /** @enum {unknown} */
                type: "country" | "state" | "dma" | "postalCode";
                /**
                 * @example US
                 * @example NY
                 * @example 501
                 * @example 11201
                 */
                code: string;
                name: string;
                /** @description Only for a country: its flag, as an emoji. */
                flag?: string;
            };
            place?: {
                _id: string;
                name: string;
                /** @description Slugs, root first. */
                categories: string[];
                location: {
                    /** @constant */
                    type: "Point";
                    /** @description [longitude, latitude] */
                    coordinates: number[];
                };
                chain?: {
                    name: string;
                    slug: string;
                    domain?: string;
                    /** @description Your own id of the chain, from the setting chainMappings. */
                    externalId?: string;
                    metadata?: {
                        [key: string]: string | boolean | number;
                    };
                };
            };
            /** @description On entries into places: the other places in which the user might be, the most likely first. */
            alternatePlaces?: {
                _id: string;
                name: string;
                /** @description Slugs, root first. */
                categories: string[];
                location: {
                    /** @constant */
                    type: "Point";
                    /** @description [longitude, latitude] */
                    coordinates: number[];
                };
                chain?: {
                    name: string;
                    slug: string;
                    domain?: string;
                    /** @description Your own id of the chain, from the setting chainMappings. */
                    externalId?: string;
                    metadata?: {
                        [key: string]: string | boolean | number;
                    };
                };
            }[];
            fraud?: {
                /** @description False if blocked, or if any flag is raised and the user is not bypassed. */
                passed: boolean;
                bypassed: boolean;
                verified: boolean;
                blocked: boolean;
                mocked: boolean;
                jumped: boolean;
                compromised: boolean;
                inaccurate: boolean;
                proxy: boolean;
                sharing: boolean;
                lastMockedAt: string | null;
                lastJumpedAt: string | null;
                lastCompromisedAt: string | null;
                lastInaccurateAt: string | null;
                lastProxyAt: string | null;
                lastSharingAt: string | null;
            };
            /** @description Why the user failed. */
            failureReasons?: ("fraud_mocked_from_mock_provider" | "fraud_mocked_inconsistent_ip_country" | "fraud_jumped_single_device" | "fraud_compromised_reported" | "fraud_inaccurate_exceeded_accuracy_threshold" | "fraud_proxy_known_proxy_ip" | "fraud_sharing_reported" | "fraud_blocked_user_id" | "fraud_blocked_device_id" | "fraud_blocked_ip")[];
            location?: {
                /** @constant */
                type: "Point";
                /** @description [longitude, latitude] */
                coordinates: number[];
            };
            /** @description Metres. */
            locationAccuracy?: number;
            /** @description 1 low, 2 medium, 3 high; 3 on conversions, which lack the following fields. */
            confidence: number;
            currentlyOperating?: boolean;
            /** @description Minutes since entry; on exits. */
            duration?: number;
            replayed?: boolean;
            foreground?: boolean;
            stopped?: boolean;
            metadata?: {
                [key: string]: string | boolean | number;
            };
            /** @description The verification by a client: 1 accepted, -1 rejected. */
            verification?: number;
            verifiedPlaceId?: string;
        };
        /** NewGeofence */
        NewGeofence: {
            /** @description Display name. */
            description: string;
            /** @description circle, polygon or isochrone. */
            type: string;
            /** @description Group of the geofence. */
            tag: string;
            /** @description Your own id, unique within the tag. */
            externalId: string;
            /** @description Required if there is no address and no placeId. circle and isochrone: [longitude, latitude]. polygon: a closed ring [[longitude, latitude], …] of 4 to 2,000 positions. A list or its JSON text; a form may also repeat the field for each number in turn. */
            coordinates?: unknown[] | string;
            /** @description circle and isochrone: instead of coordinates, an address or the name of a place. It is looked up once. With coordinates it must be within 1,000 m of them. */
            address?: string;
            /** @description _id of a place, whose area the geofence gets; coordinates and address are then ignored. It is looked up once. If only the point of the place is known: a circle around it, with the given radius or the usual one of such places; a polygon keeps its coordinates. */
            placeId?: string;
            /** @description Required for a circle without placeId: metres, 10 to 10,000. Required for an isochrone: minutes of travel, 1 to 120. */
            radius?: number | string;
            /** @description Required for an isochrone: car, truck, foot, bike or motorbike. */
            mode?: string;
            /** @description Whether it causes events; default true. */
            enabled?: boolean | string;
            /** @description Up to 16 keys; values are strings, booleans or numbers. */
            metadata?: {
                [key: string]: unknown;
            } | string;
            /** @description Day names (Sunday or Sun) with lists of [open, close], such as 9:00 AM or 17:30. Without it, the geofence is always open. */
            operatingHours?: {
                [key: string]: unknown;
            } | string;
            /** @description Overrides the project's stop detection. */
            stopDetection?: boolean | string;
            /**
             * @description ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
             * @example 2026-11-20T04:21:00.123Z
             */
            disableAfter?: string | number;
            /**
             * @description ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
             * @example 2026-11-20T04:21:00.123Z
             */
            deleteAfter?: string | number;
            /** @description Deprecated: use userIds. */
            userId?: string;
            /** @description Only these users cause events; a list or comma-separated. */
            userIds?: string[] | string;
            /** @description Only requests from these addresses, wildcards or CIDR ranges cause events; comma-separated. */
            ip?: string[] | string;
            /** @description Minutes inside before a dwell event. */
            dwellThreshold?: number | string;
            /** @description Minutes before arrival at which a trip is approaching. */
            tripApproachingThreshold?: number | string;
        } & (unknown & unknown & unknown);
        /** GeofenceDefinition */
        GeofenceDefinition: {
            /** @description Display name. */
            description: string;
            /** @description circle, polygon or isochrone. */
            type: string;
            /** @description Group of the geofence. */
            tag?: string;
            /** @description Your own id, unique within the tag. */
            externalId?: string;
            /** @description Required if there is no address and no placeId. circle and isochrone: [longitude, latitude]. polygon: a closed ring [[longitude, latitude], …] of 4 to 2,000 positions. A list or its JSON text; a form may also repeat the field for each number in turn. */
            coordinates?: unknown[] | string;
            /** @description circle and isochrone: instead of coordinates, an address or the name of a place. It is looked up once. With coordinates it must be within 1,000 m of them. */
            address?: string;
            /** @description _id of a place, whose area the geofence gets; coordinates and address are then ignored. It is looked up once. If only the point of the place is known: a circle around it, with the given radius or the usual one of such places; a polygon keeps its coordinates. */
            placeId?: string;
            /** @description Required for a circle without placeId: metres, 10 to 10,000. Required for an isochrone: minutes of travel, 1 to 120. */
            radius?: number | string;
            /** @description Required for an isochrone: car, truck, foot, bike or motorbike. */
            mode?: string;
            /** @description Whether it causes events; default true. */
            enabled?: boolean | string;
            /** @description Up to 16 keys; values are strings, booleans or numbers. */
            metadata?: {
                [key: string]: unknown;
            } | string;
            /** @description Day names (Sunday or Sun) with lists of [open, close], such as 9:00 AM or 17:30. Without it, the geofence is always open. */
            operatingHours?: {
                [key: string]: unknown;
            } | string;
            /** @description Overrides the project's stop detection. */
            stopDetection?: boolean | string;
            /**
             * @description ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
             * @example 2026-11-20T04:21:00.123Z
             */
            disableAfter?: string | number;
            /**
             * @description ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
             * @example 2026-11-20T04:21:00.123Z
             */
            deleteAfter?: string | number;
            /** @description Deprecated: use userIds. */
            userId?: string;
            /** @description Only these users cause events; a list or comma-separated. */
            userIds?: string[] | string;
            /** @description Only requests from these addresses, wildcards or CIDR ranges cause events; comma-separated. */
            ip?: string[] | string;
            /** @description Minutes inside before a dwell event. */
            dwellThreshold?: number | string;
            /** @description Minutes before arrival at which a trip is approaching. */
            tripApproachingThreshold?: number | string;
        } & (unknown & unknown & unknown);
        /** GeofenceChanges */
        GeofenceChanges: {
            enabled?: (boolean | string) | null;
            metadata?: ({
                [key: string]: unknown;
            } | string) | null;
            operatingHours?: ({
                [key: string]: unknown;
            } | string) | null;
            stopDetection?: (boolean | string) | null;
            disableAfter?: (string | number) | null;
            deleteAfter?: (string | number) | null;
            userIds?: (string[] | string) | null;
            ip?: (string[] | string) | null;
            dwellThreshold?: (number | string) | null;
            tripApproachingThreshold?: (number | string) | null;
        };
        /** BeaconDefinition */
        BeaconDefinition: {
            /** @description Display name. */
            description: string;
            /** @description ibeacon or eddystone. */
            type: string;
            /** @description Approximate location, [longitude, latitude]: devices within 1 km receive the beacon in responses. A list or its JSON text. */
            coordinates: unknown[] | string;
            /** @description Group of the beacon. */
            tag?: string;
            /** @description Your own id, unique within the tag. Tag and externalId together identify the beacon. */
            externalId?: string;
            /** @description Required for an ibeacon: 32 hexadecimal digits, in any case, with or without dashes. */
            uuid?: string;
            /** @description Required for an ibeacon: 0 to 65,535. */
            major?: number | string;
            /** @description Required for an ibeacon: 0 to 65,535. */
            minor?: number | string;
            /** @description Required for an eddystone: the namespace, 20 hexadecimal digits. */
            uid?: string;
            /** @description Required for an eddystone: 12 hexadecimal digits. */
            instance?: string;
            /** @description Whether it causes events; default true. */
            enabled?: boolean | string;
            /** @description Up to 16 keys; values are strings, booleans or numbers. */
            metadata?: {
                [key: string]: unknown;
            } | string;
        } & (unknown & unknown);
        /** BeaconChanges */
        BeaconChanges: {
            enabled?: (boolean | string) | null;
            metadata?: ({
                [key: string]: unknown;
            } | string) | null;
        };
        /** RefusedRow */
        RefusedRow: {
            /** @description The line of the file where the row begins, counted from 1. */
            line: number;
            /** @description The row below the header, counted from 1. */
            row: number;
            /** @description Absent if the error concerns the whole row. */
            column?: string;
            message: string;
            /** @description The cell's first 100 characters. */
            value?: string;
        };
        /** Import */
        Import: {
            _id: string;
            /** @enum {unknown} */
            kind: "geofences" | "beacons";
            live: boolean;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            finishedAt?: string;
            fileName?: string;
            /** @description True if the file was only checked. */
            dryRun?: boolean;
            /**
             * @description completed: every row was read, and created, updated or refused.
             * @enum {unknown}
             */
            status: "running" | "completed" | "interrupted" | "canceled";
            /** @description Where and why the import stopped before the end of the file; the rows before were imported. */
            interruption?: {
                line?: number;
                message: string;
            };
            /** @description Rows read: created, updated and refused ones. */
            rows: number;
            created: number;
            /** @description Rows whose tag and externalId already existed, possibly from an earlier row. */
            updated: number;
            refused: number;
            /** @description Created beacons that have no tag and externalId. */
            createdWithoutPair: number;
            /** @description A warning to read before you import the file again. */
            note?: string;
            /** @description The first 1000 refused rows. Only in the response about a single import, after it has ended. */
            errors?: components["schemas"]["RefusedRow"][];
            /** @description Refused rows beyond those in errors. */
            moreErrors?: number;
        };
        /** GeofenceCollection */
        GeofenceCollection: {
            /** @constant */
            type: "FeatureCollection";
            features: {
                /** @constant */
                type: "Feature";
                /** @description 24 hexadecimal digits; edits do not change it. */
                id: string;
                /** @description null while an isochrone has no area. */
                geometry: {
                    /** @constant */
                    type: "Polygon";
                    coordinates: number[][][];
                } | null;
                properties: {
                    /**
                     * Format: date-time
                     * @example 2026-11-20T04:21:00.123Z
                     */
                    createdAt: string;
                    /**
                     * Format: date-time
                     * @example 2026-11-20T04:21:00.123Z
                     */
                    updatedAt: string;
                    live: boolean;
                    tag: string;
                    externalId: string;
                    description: string;
                    /** @enum {unknown} */
                    type: "circle" | "polygon" | "isochrone";
                    geometryCenter: {
                        /** @constant */
                        type: "Point";
                        /** @description [longitude, latitude] */
                        coordinates: number[];
                    };
                    /** @description In metres: the radius of the circle, or of a circle around the polygon; 0 while an isochrone has no area. */
                    geometryRadius: number;
                    mode?: string;
                    /** @description State of an isochrone, whose area is computed in the background. Until it is ready there is no `geometry`, and no device is inside. */
                    isochrone?: {
                        /** @description [longitude, latitude] */
                        destination: number[];
                        minutes: number;
                        /** @enum {unknown} */
                        status: "pending" | "ready" | "failed";
                        /**
                         * Format: date-time
                         * @example 2026-11-20T04:21:00.123Z
                         */
                        computedAt?: string;
                        /** @description Why the last attempt to compute it failed. */
                        failure?: string;
                    };
                    metadata?: {
                        [key: string]: string | number | boolean;
                    };
                    userId?: string;
                    userIds?: string[];
                    ip?: string;
                    enabled: boolean;
                    operatingHours?: {
                        [key: string]: string[][];
                    };
                    stopDetection?: boolean;
                    /** @description Minutes. */
                    dwellThreshold?: number;
                    /**
                     * Format: date-time
                     * @example 2026-11-20T04:21:00.123Z
                     */
                    disableAfter?: string;
                    /**
                     * Format: date-time
                     * @example 2026-11-20T04:21:00.123Z
                     */
                    deleteAfter?: string;
                    placeId?: string;
                    /** @description Minutes. */
                    tripApproachingThreshold?: number;
                    /** @description Metres to the boundary, 0 inside; in searches. */
                    distance?: number;
                };
            }[];
        };
        /** BeaconCollection */
        BeaconCollection: {
            /** @constant */
            type: "FeatureCollection";
            features: {
                /** @constant */
                type: "Feature";
                /** @description 24 hexadecimal digits; edits do not change it. */
                id: string;
                geometry: {
                    /** @constant */
                    type: "Point";
                    /** @description [longitude, latitude] */
                    coordinates: number[];
                };
                properties: {
                    /**
                     * Format: date-time
                     * @example 2026-11-20T04:21:00.123Z
                     */
                    createdAt: string;
                    /**
                     * Format: date-time
                     * @example 2026-11-20T04:21:00.123Z
                     */
                    updatedAt: string;
                    live: boolean;
                    tag?: string;
                    externalId?: string;
                    description: string;
                    /** @enum {unknown} */
                    type: "ibeacon" | "eddystone";
                    /** @description ibeacon. */
                    uuid?: string;
                    /** @description ibeacon; a number as text. */
                    major?: string;
                    /** @description ibeacon; a number as text. */
                    minor?: string;
                    /** @description eddystone: the namespace. */
                    uid?: string;
                    /** @description eddystone. */
                    instance?: string;
                    enabled: boolean;
                    metadata?: {
                        [key: string]: string | number | boolean;
                    };
                    /** @description Metres; in searches. */
                    distance?: number;
                };
            }[];
        };
        /** Settings */
        Settings: {
            /** @description An entry requires that the user has stopped or that the app is in the foreground. */
            stopDetection: boolean;
            /** @description An entry also happens if the distance from the geofence is at most the accuracy. */
            bufferEntries: boolean;
            /** @description An exit requires that the distance from the geofence is more than the accuracy. */
            bufferExits: boolean;
            /** @description No geofence events outside operating hours. */
            restrictToOperatingHours: boolean;
            /** @description Whether user.dwelled_in_geofence is generated, after the dwellThreshold of the geofence, or else of the settings. */
            dwellEvents: boolean;
            /** @description Minutes, for geofences without their own dwellThreshold. null: only geofences with their own threshold have dwell events. */
            dwellThreshold: number | null;
            /** @description iBeacon UUIDs handed to clients: 32 hexadecimal digits, with or without dashes. */
            beaconUuids: string[];
            /** @description Eddystone UIDs handed to clients: 20 hexadecimal digits. */
            beaconUids: string[];
            /** @description An entry or exit below it does not happen yet. */
            minimumConfidence: number;
            /** @description Seconds for which the condition of an entry must hold before the entry happens; 0: it happens at once. */
            entryDelaySeconds: number;
            /** @description Seconds for which the condition of an exit must hold before the exit happens; 0: it happens at once. */
            exitDelaySeconds: number;
            /** @description A less accurate location moves the device but does not change its geofences. */
            maxAccuracyMeters: number | null;
            /** @description A geofence that is crossed between two locations causes an entry and an exit. */
            detectCrossings: boolean;
            /** @description The most seconds between two locations for which detectCrossings counts what lies between them. */
            maxGapSeconds: number;
            /** @description Whether users have their country and, in the United States, their state, DMA and postal code; entries and exits are events. */
            regions: boolean;
            /** @description The kinds of regions whose entries and exits are events. */
            regionEvents: ("country" | "state" | "dma" | "postalCode")[];
            /** @description E-mail addresses that are told when a webhook pauses and when 90 % of the quota is used. The operator sets the mail server. */
            notificationEmails: string[];
            /** @description Alpha-2 codes of countries: updates and contexts from there are answered 451. */
            blockedCountries: string[];
            /** @description If there are any, updates and contexts from all other countries are answered 451. */
            allowedCountries: string[];
            /** @description Whether and how fraud is judged: the speed and length of a jump, the worst accuracy, and whether the country of the IP address counts. The lists `bypassed` and `blocked` have `_id`s, userIds and deviceIds; `blocked` may also have IP addresses and ranges. Members that are absent get their defaults. */
            fraud: {
                enabled: boolean;
                /** @description Kilometres per hour. */
                jumpSpeed: number;
                jumpMeters: number;
                /** @description Metres. */
                maxAccuracy: number;
                ipCountry: boolean;
                bypassed: string[];
                blocked: string[];
            };
            /** @description Your own ids of chains, by slug: `{"burger-king": "17"}`. Responses show them as `externalId`, and searches accept them in place of slugs. */
            chainMappings: {
                [key: string]: string;
            };
            /** @description Custom data of chains, by slug: 1 to 16 strings, booleans and numbers for each. */
            chainMetadata: {
                [key: string]: {
                    [key: string]: string | number | boolean;
                };
            };
            /** @description Slugs of the chains and categories of which a place must have one to be detected as visited. Empty: every place. */
            placeFilters: {
                chain: string[];
                category: string[];
            };
            /** @description Whether users have the place that they visit and their most visited chains; entries and exits of places are events. */
            places: boolean;
            /** @description If the same place has been the most likely one for this many seconds, the user visits it, even without stopping and without the app in the foreground. */
            placeMinimumStaySeconds: number;
            /** @description Slugs of chains: coming near one of their places is an event, and users have the chains that are near. */
            nearbyPlaceChains: string[];
            /** @description The distance, in metres, at which a chain is near. It is no longer near at one and a half times this distance. */
            nearbyPlaceChainMeters: number;
            /** @description Groups of users: `{"description", "externalId", "rule"}`. After each update, `user.segments` has those whose rule holds. A rule has at most 4 levels and 20 conditions; all rules together count at most 20 kinds of events. Countries and states need the setting `regions`, chains and categories the setting `places`. Events count from when the rule is set; a change that leaves the rule of an externalId as it is keeps its counts. */
            segments: {
                description: string;
                /** @description Your own id of the segment, unique among the segments. */
                externalId: string;
                /** @description Exactly one member. */
                rule: {
                    /** @description All of these rules hold. */
                    all?: Record<string, unknown>[];
                    /** @description At least one of these rules holds. */
                    any?: Record<string, unknown>[];
                    /** @description A rule. */
                    not?: Record<string, unknown>;
                    /** @description The metadata of the user have each of these keys with this very value. */
                    metadata?: {
                        [key: string]: string | number | boolean;
                    };
                    /** @description The code of the country that the user is in: `US`. */
                    country?: string;
                    /** @description The code of the state of the United States: `NY`. */
                    state?: string;
                    /** @description The user is in such a geofence. */
                    geofence?: {
                        tag: string;
                        externalId?: string;
                    };
                    /** @description The slug of the chain of the place that the user is in. */
                    chain?: string;
                    /** @description The slug of a category of the place that the user is in. */
                    category?: string;
                    /** @description The user had at least this number of such events in this number of days, since the rule was set. */
                    event?: {
                        /** @description The type of an event, or the name of a conversion; not that of a trip event. */
                        type: string;
                        /** @description The tag of the geofence or beacon. */
                        tag?: string;
                        externalId?: string;
                        /** @description The chain of the place. */
                        chain?: string;
                        /** @description A category of the place. */
                        category?: string;
                        /** @default 30 */
                        withinDays?: number;
                        /** @default 1 */
                        atLeast?: number;
                    };
                };
            }[];
            /** @description Minutes before arrival at which a trip is approaching, if neither the trip nor its destination has its own. null: never. */
            tripApproachingThreshold: number | null;
            /** @description Minutes after which a trip without an end expires: after its creation, start and scheduled arrival. null: never. */
            tripExpirationMinutes: number | null;
            /** @description Minutes: a trip that is later than that is delayed. null: `delayed` stays false, and user.delayed_during_trip is not generated. */
            tripDelayThreshold: number | null;
            /** @description Whether user.arrived_at_wrong_trip_destination is generated: a trip enters another geofence with the tag of its destination. */
            tripWrongDestinationEvents: boolean;
            /** @description The least time between two events user.updated_trip of a trip that are caused by location updates; 0: each update causes one. */
            tripUpdateSeconds: number;
            /** @description The least time between two computations of the route to the destination. */
            tripEtaSeconds: number;
        };
        /** SettingsChange */
        SettingsChange: {
            /** @description An entry requires that the user has stopped or that the app is in the foreground. */
            stopDetection?: boolean | string;
            /** @description An entry also happens if the distance from the geofence is at most the accuracy. */
            bufferEntries?: boolean | string;
            /** @description An exit requires that the distance from the geofence is more than the accuracy. */
            bufferExits?: boolean | string;
            /** @description No geofence events outside operating hours. */
            restrictToOperatingHours?: boolean | string;
            /** @description Whether user.dwelled_in_geofence is generated, after the dwellThreshold of the geofence, or else of the settings. */
            dwellEvents?: boolean | string;
            /** @description Minutes, for geofences without their own dwellThreshold. null: only geofences with their own threshold have dwell events. */
            dwellThreshold?: number | null | string;
            /** @description iBeacon UUIDs handed to clients: 32 hexadecimal digits, with or without dashes. */
            beaconUuids?: string[] | null | string;
            /** @description Eddystone UIDs handed to clients: 20 hexadecimal digits. */
            beaconUids?: string[] | null | string;
            /** @description An entry or exit below it does not happen yet. */
            minimumConfidence?: number | string;
            /** @description Seconds for which the condition of an entry must hold before the entry happens; 0: it happens at once. */
            entryDelaySeconds?: number | string;
            /** @description Seconds for which the condition of an exit must hold before the exit happens; 0: it happens at once. */
            exitDelaySeconds?: number | string;
            /** @description A less accurate location moves the device but does not change its geofences. */
            maxAccuracyMeters?: number | null | string;
            /** @description A geofence that is crossed between two locations causes an entry and an exit. */
            detectCrossings?: boolean | string;
            /** @description The most seconds between two locations for which detectCrossings counts what lies between them. */
            maxGapSeconds?: number | string;
            /** @description Whether users have their country and, in the United States, their state, DMA and postal code; entries and exits are events. */
            regions?: boolean | string;
            /** @description The kinds of regions whose entries and exits are events. */
            regionEvents?: string[] | null | string;
            /** @description E-mail addresses that are told when a webhook pauses and when 90 % of the quota is used. The operator sets the mail server. */
            notificationEmails?: string[] | null | string;
            /** @description Alpha-2 codes of countries: updates and contexts from there are answered 451. */
            blockedCountries?: string[] | null | string;
            /** @description If there are any, updates and contexts from all other countries are answered 451. */
            allowedCountries?: string[] | null | string;
            /** @description Whether and how fraud is judged: the speed and length of a jump, the worst accuracy, and whether the country of the IP address counts. The lists `bypassed` and `blocked` have `_id`s, userIds and deviceIds; `blocked` may also have IP addresses and ranges. Members that are absent get their defaults. */
            fraud?: {
                [key: string]: unknown;
            } | null | string;
            /** @description Your own ids of chains, by slug: `{"burger-king": "17"}`. Responses show them as `externalId`, and searches accept them in place of slugs. */
            chainMappings?: {
                [key: string]: string;
            } | null | string;
            /** @description Custom data of chains, by slug: 1 to 16 strings, booleans and numbers for each. */
            chainMetadata?: {
                [key: string]: {
                    [key: string]: string | number | boolean;
                };
            } | null | string;
            /** @description Slugs of the chains and categories of which a place must have one to be detected as visited. Empty: every place. */
            placeFilters?: {
                [key: string]: unknown;
            } | null | string;
            /** @description Whether users have the place that they visit and their most visited chains; entries and exits of places are events. */
            places?: boolean | string;
            /** @description If the same place has been the most likely one for this many seconds, the user visits it, even without stopping and without the app in the foreground. */
            placeMinimumStaySeconds?: number | string;
            /** @description Slugs of chains: coming near one of their places is an event, and users have the chains that are near. */
            nearbyPlaceChains?: string[] | null | string;
            /** @description The distance, in metres, at which a chain is near. It is no longer near at one and a half times this distance. */
            nearbyPlaceChainMeters?: number | string;
            /** @description Groups of users: `{"description", "externalId", "rule"}`. After each update, `user.segments` has those whose rule holds. A rule has at most 4 levels and 20 conditions; all rules together count at most 20 kinds of events. Countries and states need the setting `regions`, chains and categories the setting `places`. Events count from when the rule is set; a change that leaves the rule of an externalId as it is keeps its counts. */
            segments?: {
                [key: string]: unknown;
            }[] | null | string;
            /** @description Minutes before arrival at which a trip is approaching, if neither the trip nor its destination has its own. null: never. */
            tripApproachingThreshold?: number | null | string;
            /** @description Minutes after which a trip without an end expires: after its creation, start and scheduled arrival. null: never. */
            tripExpirationMinutes?: number | null | string;
            /** @description Minutes: a trip that is later than that is delayed. null: `delayed` stays false, and user.delayed_during_trip is not generated. */
            tripDelayThreshold?: number | null | string;
            /** @description Whether user.arrived_at_wrong_trip_destination is generated: a trip enters another geofence with the tag of its destination. */
            tripWrongDestinationEvents?: boolean | string;
            /** @description The least time between two events user.updated_trip of a trip that are caused by location updates; 0: each update causes one. */
            tripUpdateSeconds?: number | string;
            /** @description The least time between two computations of the route to the destination. */
            tripEtaSeconds?: number | string;
        };
        /** Account */
        Account: {
            _id: string;
            email: string;
            name: string;
            /**
             * @description `admin` includes `write`, and `write` includes `read`.
             * @enum {unknown}
             */
            role: "read" | "write" | "admin";
            /** @description Whether the person cannot sign in. */
            disabled: boolean;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            lastSignInAt?: string;
            /**
             * Format: date-time
             * @description Until when the link can be used; absent if there is none that has not been used.
             */
            invitedUntil?: string;
        };
        /** Session */
        Session: {
            _id: string;
            /** @description Absent for a session that was opened with a key. */
            account?: {
                _id: string;
                email: string;
                name: string;
            };
            /** @description The IP address from which the person signed in. */
            ip: string;
            /** @description The browser with which the person signed in. */
            userAgent: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description The approximate time of its last use. The session ends 12 hours later.
             */
            usedAt: string;
            /**
             * Format: date-time
             * @description When the session ends at the latest, even if it is used.
             */
            expiresAt: string;
            /** @description Whether it is the session of this request. */
            current: boolean;
        };
        /** SignedIn */
        SignedIn: {
            account?: components["schemas"]["Account"];
            /** @description Instead of an account: the last four characters of the secret key. */
            key?: string;
            /**
             * @description `admin` includes `write`, and `write` includes `read`.
             * @enum {unknown}
             */
            role: "read" | "write" | "admin";
            /** @description For the header X-Ringfence-Environment. */
            environments: ("test" | "live")[];
            session: components["schemas"]["Session"];
        };
        /** GeofenceSync */
        GeofenceSync: {
            enabled: boolean;
            /**
             * @description Absent if there are no settings yet.
             * @enum {unknown}
             */
            protocol?: "http" | "s3";
            http?: {
                /** @description A query, which may be secret, is shown as `…`. */
                urls: string[];
                username?: string;
                passwordSet: boolean;
                /** @description Names. */
                headers: string[];
            };
            s3?: {
                region: string;
                bucket: string;
                keys: string[];
                accessKeyId: string;
                secretAccessKeySet: boolean;
                endpoint?: string;
                pathStyle: boolean;
            };
            time: string;
            timeZone: string;
            deleteMissing: boolean;
            maxDeleteShare: number;
            emails: string[];
            /** @enum {unknown} */
            notify: "always" | "failures";
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            nextRunAt?: string;
        };
        /** GeofenceSyncRun */
        GeofenceSyncRun: {
            _id: string;
            live: boolean;
            /** @enum {unknown} */
            trigger: "nightly" | "save" | "manual";
            /** @description The key or person; absent for nightly runs. */
            by?: string;
            force: boolean;
            dryRun: boolean;
            /** @description The interrupted run that this one begins again. */
            repeats?: string;
            /** @enum {unknown} */
            status: "queued" | "running" | "succeeded" | "partial" | "failed" | "canceled" | "interrupted";
            /** @description Why nothing was done, if no source is the reason. */
            message?: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            startedAt?: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            finishedAt?: string;
            sources: {
                /** @description The URL with its query as `…`, or bucket/key. */
                name: string;
                /** @enum {unknown} */
                status?: "read" | "unchanged" | "failed";
                httpStatus?: number;
                /** @description Unpacked. */
                bytes?: number;
                etag?: string;
                attempts: number;
                error?: {
                    code: string;
                    message: string;
                };
                /** @description Rows below the header. */
                rows: number;
                created: number;
                updated: number;
                /** @description Rows that agree with the existing geofence. */
                unchanged: number;
                /** @description Rows that do not count, because a later row has the same tag and externalId. */
                repeated: number;
                refused: number;
            }[];
            /** @description Rows below the header. */
            rows: number;
            created: number;
            updated: number;
            /** @description Rows that agree with the existing geofence. */
            unchanged: number;
            /** @description Rows that do not count, because a later row has the same tag and externalId. */
            repeated: number;
            refused: number;
            deleted: number;
            /** @description How many geofences would have been deleted (`count`) of all that runs wrote (`of`). This is a larger share than maxDeleteShare, so nothing was deleted. */
            deletionHeld?: {
                count: number;
                of: number;
            };
            notification?: {
                /** @enum {unknown} */
                status: "sent" | "waiting" | "failed" | "off" | "notConfigured";
                error?: string;
            };
            /** @description The first 1,000 refused rows. Only in the response about a single run that has ended. */
            errors?: {
                source: string;
                line: number;
                row: number;
                column?: string;
                message: string;
                value?: string;
            }[];
            /** @description Refused rows beyond those in errors. */
            moreErrors?: number;
            /** @description What a dry run would do: the first 300. Only in the response about a single run that has ended. */
            changes?: {
                /** @enum {unknown} */
                change: "created" | "updated" | "deleted";
                tag: string;
                externalId: string;
                description: string;
                /** @description Longitude and latitude in degrees. */
                center: number[];
                /** @description Radius in metres of a circle around the centre that contains the area. */
                radius: number;
            }[];
        };
        /** GeofenceSyncSettings */
        GeofenceSyncSettings: {
            /** @description Default true. If false, there are no nightly runs; you can still start a run by a call. */
            enabled?: boolean | string;
            /** @description `http` or `s3`. */
            protocol: string;
            /** @description The settings of a source with the protocol http. */
            http?: {
                /** @description 1 to 20 addresses, http or https, without a user name. A query that is given as `…` stays as it is. */
                urls: unknown[] | string;
                /** @description The user name of basic authentication. */
                username?: string;
                /** @description Secret. If it is left out, it stays the same; null removes it. */
                password?: string | null;
                /** @description At most 10 headers; the values are secret. A header that is left out stays the same; null removes it, or all headers. */
                headers?: {
                    [key: string]: string | null;
                } | null;
            };
            /** @description The settings of a source with the protocol s3. */
            s3?: {
                /** @description The region of the bucket. */
                region: string;
                /** @description The name of the bucket. */
                bucket: string;
                /** @description 1 to 20 names of objects. */
                keys: unknown[] | string;
                /** @description The id of the access key. */
                accessKeyId: string;
                /** @description Secret. If it is left out, it stays the same. */
                secretAccessKey?: string | null;
                /** @description Only for storage other than AWS: http(s)://HOST:PORT. */
                endpoint?: string;
                /** @description Whether the bucket is in the path. Default: true with an endpoint. */
                pathStyle?: boolean | string;
            };
            /** @description HH:mm of the nightly run; default 03:00. */
            time?: string;
            /** @description IANA name; default UTC. */
            timeZone?: string;
            /** @description Default false. Whether geofences are deleted that a run wrote and that no source names any more. */
            deleteMissing?: boolean | string;
            /** @description Default 0.1. If more than this share of all geofences written by runs would be deleted, nothing is deleted until a run with `force`. */
            maxDeleteShare?: number | string;
            /** @description At most 10 e-mail addresses that are told how runs end. */
            emails?: unknown[] | string;
            /** @description `always` (default) or `failures`. */
            notify?: string;
            /** @description Default false. Whether a run begins at once. */
            run?: boolean | string;
        } & (unknown & unknown);
        /** GeofenceSyncTest */
        GeofenceSyncTest: {
            /** @description Default true. If false, there are no nightly runs; you can still start a run by a call. */
            enabled?: boolean | string;
            /** @description `http` or `s3`. */
            protocol?: string;
            /** @description The settings of a source with the protocol http. */
            http?: {
                /** @description 1 to 20 addresses, http or https, without a user name. A query that is given as `…` stays as it is. */
                urls: unknown[] | string;
                /** @description The user name of basic authentication. */
                username?: string;
                /** @description Secret. If it is left out, it stays the same; null removes it. */
                password?: string | null;
                /** @description At most 10 headers; the values are secret. A header that is left out stays the same; null removes it, or all headers. */
                headers?: {
                    [key: string]: string | null;
                } | null;
            };
            /** @description The settings of a source with the protocol s3. */
            s3?: {
                /** @description The region of the bucket. */
                region: string;
                /** @description The name of the bucket. */
                bucket: string;
                /** @description 1 to 20 names of objects. */
                keys: unknown[] | string;
                /** @description The id of the access key. */
                accessKeyId: string;
                /** @description Secret. If it is left out, it stays the same. */
                secretAccessKey?: string | null;
                /** @description Only for storage other than AWS: http(s)://HOST:PORT. */
                endpoint?: string;
                /** @description Whether the bucket is in the path. Default: true with an endpoint. */
                pathStyle?: boolean | string;
            };
            /** @description HH:mm of the nightly run; default 03:00. */
            time?: string;
            /** @description IANA name; default UTC. */
            timeZone?: string;
            /** @description Default false. Whether geofences are deleted that a run wrote and that no source names any more. */
            deleteMissing?: boolean | string;
            /** @description Default 0.1. If more than this share of all geofences written by runs would be deleted, nothing is deleted until a run with `force`. */
            maxDeleteShare?: number | string;
            /** @description At most 10 e-mail addresses that are told how runs end. */
            emails?: unknown[] | string;
            /** @description `always` (default) or `failures`. */
            notify?: string;
        } & (unknown & unknown);
        /** FoundChain */
        FoundChain: {
            name: string;
            /** @example burger-king */
            slug: string;
            /**
             * @description Of its website.
             * @example bk.com
             */
            domain?: string;
            /** @description Your own id of it, by the setting `chainMappings`. */
            externalId?: string;
            /** @description Your own data of it, by the setting `chainMetadata`. */
            metadata?: {
                [key: string]: string | number | boolean;
            };
        };
        /** FoundPlace */
        FoundPlace: {
            /** @description The `_id` stays the same after each import. A geofence accepts it as `placeId`. */
            _id: string;
            name: string;
            /**
             * @description Slugs, each after the categories that contain it.
             * @example [
             *       "food-beverage",
             *       "restaurant",
             *       "fast-food-restaurant"
             *     ]
             */
            categories: string[];
            location: {
                /** @constant */
                type: "Point";
                /** @description [longitude, latitude] */
                coordinates: number[];
            };
            chain?: components["schemas"]["FoundChain"];
            /** @description The parts of its address that are known. */
            address: {
                /** @description House number. */
                number?: string;
                /** @description Apartment, suite or floor. */
                unit?: string;
                /** @description For an intersection, both streets. */
                street?: string;
                /** @description Part of a city. */
                neighborhood?: string;
                /** @description A borough of a large city. */
                borough?: string;
                /** @description City, town or village. */
                city?: string;
                /** @description Name. */
                county?: string;
                /** @description Name. */
                state?: string;
                /**
                 * @description The code of the state, if states of the country have one.
                 * @example NY
                 */
                stateCode?: string;
                /** @description Also called ZIP code. */
                postalCode?: string;
                /** @description The name in the language of `lang`. */
                country?: string;
                /**
                 * @description The two-letter code (ISO 3166-1 alpha-2).
                 * @example UY
                 */
                countryCode?: string;
                /** @description An emoji. */
                countryFlag?: string;
                /** @example Plaza Cagancha 1157, Montevideo, Uruguay */
                formattedAddress: string;
            };
            /**
             * @description The group of an airport.
             * @enum {string}
             */
            group?: "airport" | "major-us-airport";
            /**
             * @description Pairs of opening and closing times by day, if the place has the same hours each week, in the format of the operating hours of a geofence.
             * @example {
             *       "Monday": [
             *         [
             *           "09:00",
             *           "18:00"
             *         ]
             *       ]
             *     }
             */
            operatingHours?: {
                [key: string]: string[][];
            };
            metadata?: {
                /**
                 * @description As it is written in OpenStreetMap.
                 * @example Mo-Fr 09:00-18:00; PH off
                 */
                openingHours?: string;
                /** @description As it is written in OpenStreetMap. */
                phone?: string;
                /** @description As it is written in OpenStreetMap. */
                website?: string;
            };
        };
        /** MapRegionImport */
        MapRegionImport: {
            _id: string;
            /** @description The name of the region. */
            name: string;
            /**
             * @description `completed`: the region is in service. In all other cases, the regions from before stay in service. `interrupted`: the server ended in the meantime.
             * @enum {unknown}
             */
            status: "uploading" | "importing" | "completed" | "failed" | "canceled" | "interrupted";
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            finishedAt?: string;
            /** @description Bytes of the extract that have arrived. */
            bytes: number;
            /** @description During the import: the present stage, such as `building routing tiles`. */
            stage?: string;
            /** @description The share of the stage that is done. */
            progress?: number;
            /** @description Why the import did not complete. */
            message?: string;
            /** @description A sentence for each part of the extract that the region lacks, because the routing engine cannot read it. */
            notes: string[];
        };
        /** Webhook */
        Webhook: {
            _id: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            updatedAt: string;
            live: boolean;
            url: string;
            description?: string;
            enabled: boolean;
            /** @enum {string} */
            mode: "single" | "multiple";
            /** @description Only events of these types. */
            types?: string[];
            /** @description Only events of geofences or beacons with these tags. */
            tags?: string[];
            /** @description Only events of these places. */
            placeIds?: string[];
            /** @description Only events of places of these chains. */
            chains?: string[];
            /** @description Only events of places of these categories. */
            categories?: string[];
            /** @description Only events of these regions. */
            regions?: string[];
            /** @description Only events of fraud with one of these reasons. */
            failureReasons?: string[];
            /** @description The last characters of the secret. */
            secretLastFour: string;
            /** @description The whole secret; only in the responses to creation and rotation. */
            secret?: string;
            /**
             * @description `failing`: the last attempts failed, and retries continue. `paused`: nothing is sent until it is enabled again; events that happen in the meantime are kept.
             * @enum {string}
             */
            status: "active" | "failing" | "paused" | "disabled";
            /**
             * Format: date-time
             * @description Since when it is failing or paused.
             */
            since?: string;
            /** @description Why it is failing or paused. */
            reason?: string;
            /** @description Deliveries that wait to be sent. */
            pending: number;
            /**
             * Format: date-time
             * @description The pause lasted longer than events are kept, so undelivered events from before this time are lost.
             */
            lostBefore?: string;
            /** @description The time range that is being redelivered. */
            redelivery?: {
                /**
                 * Format: date-time
                 * @example 2026-11-20T04:21:00.123Z
                 */
                from: string;
                /**
                 * Format: date-time
                 * @example 2026-11-20T04:21:00.123Z
                 */
                to: string;
            };
        };
        /** WebhookDefinition */
        WebhookDefinition: {
            /** @description http or https. */
            url: string;
            /** @description A text for people. */
            description?: string;
            /** @description Default true. While it is false, events are not sent, and they are not sent later either. */
            enabled?: boolean | string;
            /**
             * @description `single` (default): one event a request; `multiple`: up to 5 of one user.
             * @enum {string}
             */
            mode?: "single" | "multiple";
            /** @description Only events of these types, e.g. `user.entered_geofence`; absent: all. */
            types?: string[] | string;
            /** @description Only events of geofences or beacons with these tags; absent: all. */
            tags?: string[] | string;
            /** @description Only events of places with these `_id`s; absent: all. */
            placeIds?: string[] | string;
            /** @description Only events of places of chains with these slugs; absent: all. */
            chains?: string[] | string;
            /** @description Only events of places of categories with these slugs; absent: all. */
            categories?: string[] | string;
            /** @description Only events of regions with these codes or `_id`s; absent: all. */
            regions?: string[] | string;
            /** @description Only `user.failed_fraud` with one of these reasons; absent: all. */
            failureReasons?: string[] | string;
        };
        /** WebhookChange */
        WebhookChange: {
            /** @description http or https. */
            url?: string;
            description?: string | null;
            /** @description Default true. While it is false, events are not sent, and they are not sent later either. */
            enabled?: boolean | string;
            /**
             * @description `single` (default): one event a request; `multiple`: up to 5 of one user.
             * @enum {string}
             */
            mode?: "single" | "multiple";
            types?: (string[] | string) | null;
            tags?: (string[] | string) | null;
            placeIds?: (string[] | string) | null;
            chains?: (string[] | string) | null;
            categories?: (string[] | string) | null;
            regions?: (string[] | string) | null;
            failureReasons?: (string[] | string) | null;
        };
        /** Delivery */
        Delivery: {
            _id: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            createdAt: string;
            /** @description The header `webhook-id`. */
            messageId: string;
            deviceId: string;
            events: {
                _id: string;
                type: string;
            }[];
            /**
             * @description `failed`: given up after all retries. `dropped`: the events were deleted before they could be sent.
             * @enum {string}
             */
            status: "pending" | "delivered" | "failed" | "dropped";
            /** @description How often it was sent. */
            attemptCount: number;
            /** @description The last 20 attempts, oldest first. */
            attempts: {
                /**
                 * Format: date-time
                 * @example 2026-11-20T04:21:00.123Z
                 */
                at: string;
                /** @description Milliseconds. */
                latency: number;
                /** @description HTTP status; absent if there was no response. */
                status?: number;
                /** @description Why the attempt failed; absent if it succeeded. */
                error?: string;
            }[];
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            nextAttemptAt?: string;
            /** @description The beginning of the last response body, up to 1 KB. */
            lastResponseBody?: string;
        };
        /** Hook */
        Hook: {
            _id: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-11-20T04:21:00.123Z
             */
            updatedAt: string;
            live: boolean;
            tag: string;
            externalId: string;
            description?: string;
            enabled: boolean;
            geofence?: {
                tag: string;
                externalId?: string;
            };
            area?: {
                /** @enum {unknown} */
                type: "circle" | "box" | "polygon";
                /** @description [longitude, latitude] */
                center?: number[];
                radius?: number;
                box?: number[];
                coordinates?: number[][][];
            };
            roam?: {
                meters: number;
            };
            detect: ("enter" | "exit" | "dwell" | "enter" | "exit" | "cross" | "inside" | "nearby" | "faraway")[];
            userIds?: string[];
            deviceIds?: string[];
            endpoint: {
                url: string;
                subject?: string;
                jetStream?: boolean;
                user?: string;
                tlsCa?: string;
                tlsCertificate?: string;
                /** @description The names of the secrets that are set. They are never returned. */
                secrets?: string[];
            };
            /**
             * @description `failing`: the last attempts failed, and retries continue. `paused`: nothing is sent until the hook is put again; events that happen in the meantime are kept.
             * @enum {unknown}
             */
            status: "active" | "failing" | "paused" | "disabled";
            /**
             * Format: date-time
             * @description Since when it is failing or paused.
             */
            since?: string;
            /** @description Why it is failing or paused. */
            reason?: string;
            /** @description Messages that wait to be sent. */
            pending: number;
            /**
             * Format: date-time
             * @description When the endpoint last accepted a message.
             */
            lastDeliveredAt?: string;
        };
        /** NewHook */
        NewHook: {
            /** @description Group of the hook. */
            tag: string;
            /** @description Your own id, unique within the tag. */
            externalId: string;
            /** @description A text for people. */
            description?: string;
            /** @description Default true. While it is false, nothing is sent, and it is not sent later either. */
            enabled?: boolean | string;
            /** @description A geofence, or all geofences with a tag. They need not exist yet. */
            geofence?: {
                /** @description Of the geofence. */
                tag: string;
                /** @description Of the geofence; absent: all geofences with the tag. */
                externalId?: string;
            };
            /** @description An area that is not a geofence: metres and degrees, as in a watch. Needs Tile38. */
            area?: {
                /** @enum {unknown} */
                type: "circle" | "box" | "polygon";
                /** @description [longitude, latitude] */
                center?: number[];
                radius?: number;
                box?: number[];
                coordinates?: number[][][];
            } & (unknown & unknown & unknown);
            /** @description Two devices that come within this number of metres of each other. Needs Tile38. */
            roam?: {
                meters: number;
            };
            /** @description A list or comma-separated. For a geofence: `enter`, `exit` and `dwell`; for an area: `enter`, `exit`, `cross` and `inside`; the default is enter and exit. For roam: `nearby` and `faraway`; the default is both. */
            detect?: string[] | string;
            /** @description Only these users; absent: all. For roam, it is enough if one of the two devices belongs to such a user. */
            userIds?: string[] | string;
            /** @description Only these devices; absent: all. */
            deviceIds?: string[] | string;
            /** @description Where the messages are sent. */
            endpoint: {
                /** @description An http or https address, or a NATS server: `nats://HOST:PORT`, or `tls://HOST:PORT` for NATS with TLS. */
                url: string;
                /** @description For http and https: requests are signed with it according to Standard Webhooks. `whsec_` and base64 of 24 to 64 random bytes. */
                secret?: string;
                /** @description Required for NATS: the subject of all messages. */
                subject?: string;
                /** @description For NATS: whether a stream must confirm each message. Default false: it is enough that the server has received it. */
                jetStream?: boolean;
                /** @description For NATS. */
                user?: string;
                /** @description For NATS; needs `user`. */
                password?: string;
                /** @description For NATS, instead of user and password. */
                token?: string;
                /** @description For NATS, instead of user and password: the text of a credentials file, or the seed of a user’s nkey. */
                credentials?: string;
                /** @description For tls: PEM certificates of the authorities to trust, instead of the usual ones. */
                tlsCa?: string;
                /** @description For tls: PEM certificate of the client; needs tlsKey. */
                tlsCertificate?: string;
                /** @description For tls: PEM key of tlsCertificate. */
                tlsKey?: string;
            };
        } & (unknown | unknown | unknown);
        /** HookDefinition */
        HookDefinition: {
            /** @description Group of the hook. */
            tag?: string;
            /** @description Your own id, unique within the tag. */
            externalId?: string;
            /** @description A text for people. */
            description?: string;
            /** @description Default true. While it is false, nothing is sent, and it is not sent later either. */
            enabled?: boolean | string;
            /** @description A geofence, or all geofences with a tag. They need not exist yet. */
            geofence?: {
                /** @description Of the geofence. */
                tag: string;
                /** @description Of the geofence; absent: all geofences with the tag. */
                externalId?: string;
            };
            /** @description An area that is not a geofence: metres and degrees, as in a watch. Needs Tile38. */
            area?: {
                /** @enum {unknown} */
                type: "circle" | "box" | "polygon";
                /** @description [longitude, latitude] */
                center?: number[];
                radius?: number;
                box?: number[];
                coordinates?: number[][][];
            } & (unknown & unknown & unknown);
            /** @description Two devices that come within this number of metres of each other. Needs Tile38. */
            roam?: {
                meters: number;
            };
            /** @description A list or comma-separated. For a geofence: `enter`, `exit` and `dwell`; for an area: `enter`, `exit`, `cross` and `inside`; the default is enter and exit. For roam: `nearby` and `faraway`; the default is both. */
            detect?: string[] | string;
            /** @description Only these users; absent: all. For roam, it is enough if one of the two devices belongs to such a user. */
            userIds?: string[] | string;
            /** @description Only these devices; absent: all. */
            deviceIds?: string[] | string;
            /** @description Where the messages are sent. */
            endpoint: {
                /** @description An http or https address, or a NATS server: `nats://HOST:PORT`, or `tls://HOST:PORT` for NATS with TLS. */
                url: string;
                /** @description For http and https: requests are signed with it according to Standard Webhooks. `whsec_` and base64 of 24 to 64 random bytes. */
                secret?: string;
                /** @description Required for NATS: the subject of all messages. */
                subject?: string;
                /** @description For NATS: whether a stream must confirm each message. Default false: it is enough that the server has received it. */
                jetStream?: boolean;
                /** @description For NATS. */
                user?: string;
                /** @description For NATS; needs `user`. */
                password?: string;
                /** @description For NATS, instead of user and password. */
                token?: string;
                /** @description For NATS, instead of user and password: the text of a credentials file, or the seed of a user’s nkey. */
                credentials?: string;
                /** @description For tls: PEM certificates of the authorities to trust, instead of the usual ones. */
                tlsCa?: string;
                /** @description For tls: PEM certificate of the client; needs tlsKey. */
                tlsCertificate?: string;
                /** @description For tls: PEM key of tlsCertificate. */
                tlsKey?: string;
            };
        } & (unknown | unknown | unknown);
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    postV1Track: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Identifies the device; without a `userId`, it identifies a logged-out user. `anonymous`: nothing is stored. */
                    deviceId: string;
                    /** @description Stable unique id of the user. Do not use personal data. */
                    userId?: string;
                    /** @description Degrees. */
                    latitude: number;
                    /** @description Degrees. */
                    longitude: number;
                    /** @description Metres, greater than 0. Required, except in requests from an SDK: there, confidence is 1 if it is missing. */
                    accuracy?: number;
                    foreground?: boolean;
                    stopped?: boolean;
                    description?: string;
                    /** @description Up to 32 keys, of 1 to 256 characters. */
                    metadata?: {
                        [key: string]: string | boolean | number;
                    };
                    /** @enum {string} */
                    deviceType?: "iOS" | "Android" | "Web";
                    /**
                     * @description ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
                     * @example 2026-11-20T04:21:00.123Z
                     */
                    updatedAt?: string | number;
                    /** @description Unix time in milliseconds; used if `replayed` is true. */
                    updatedAtMs?: number;
                    /** @description Age of the location in milliseconds, up to a day. Used if there is no `updatedAt` or `updatedAtMs`. */
                    updatedAtMsDiff?: number;
                    /** @description Whether the update was recorded earlier. Default false. */
                    replayed?: boolean;
                    deviceOS?: string;
                    deviceMake?: string;
                    deviceModel?: string;
                    /** @description What made an SDK send the update, such as `FOREGROUND_LOCATION`: stored with the user. */
                    source?: string;
                    /** @description Whether the location comes from an app that simulates locations. */
                    mocked?: boolean;
                    /** @description Whether the app found signs that the device is rooted or tampered with. */
                    compromised?: boolean;
                    /** @description Whether the screen is being shared. */
                    sharing?: boolean;
                    /** @description Whether this is a verified track. If the setting `fraud` is on, the answer then says whether the user passed. */
                    verified?: boolean;
                    installId?: string;
                    sdkVersion?: string;
                    /** @description The beacons in range. An empty list means that the device has left all beacons; without a list, the distance decides. */
                    beacons?: {
                        /** @description `ibeacon` or `eddystone`; if absent, it follows from the identifiers. */
                        type?: string;
                        uuid?: string | number;
                        major?: string | number;
                        minor?: string | number;
                        uid?: string | number;
                        instance?: string | number;
                        /** @description Signal strength in dBm; not used. */
                        rssi?: number;
                    }[];
                    /** @description Whether the response should contain `nearbyGeofences`: those within 100 km. */
                    nearbyGeofences?: boolean | number | string;
                    /** @description The maximum number of them, 1 to 100; 10 if it is absent or less than 1. */
                    nearbyGeofencesLimit?: number;
                    /** @description For deviceId `anonymous`: the `_id`s of `user.geofences` in the previous response. */
                    geofenceIds?: string[];
                    /** @description For deviceId `anonymous`: the `_id`s of `user.beacons` in the previous response. */
                    beaconIds?: string[];
                    /** @description For deviceId `anonymous`: the `_id` of `user.place` in the previous response. */
                    placeId?: string;
                    /** @description For deviceId `anonymous`: the `_id`s of `user.country`, `user.state`, `user.dma` and `user.postalCode` in the previous response. Without this field, the response has the regions of the location, but no events about them. */
                    regionIds?: string[];
                    /** @description The trip that the device is on, by its `externalId`. If there is no such trip, it is created with the other fields: `destinationGeofenceTag` and `destinationGeofenceExternalId`, `mode`, `approachingThreshold`, `scheduledArrivalAt`, `metadata`. These do not change a trip that exists. */
                    tripOptions?: unknown;
                    /** @description Identifies the stream of the sender. With `sequence`, an update that is sent again is applied only once. */
                    stream?: string;
                    /** @description Increases within the stream. */
                    sequence?: number;
                };
                "application/x-www-form-urlencoded": {
                    /** @description Identifies the device; without a `userId`, it identifies a logged-out user. `anonymous`: nothing is stored. */
                    deviceId: string;
                    /** @description Stable unique id of the user. Do not use personal data. */
                    userId?: string;
                    /** @description Degrees. */
                    latitude: number;
                    /** @description Degrees. */
                    longitude: number;
                    /** @description Metres, greater than 0. Required, except in requests from an SDK: there, confidence is 1 if it is missing. */
                    accuracy?: number;
                    foreground?: boolean;
                    stopped?: boolean;
                    description?: string;
                    /** @description Up to 32 keys, of 1 to 256 characters. */
                    metadata?: {
                        [key: string]: string | boolean | number;
                    };
                    /** @enum {string} */
                    deviceType?: "iOS" | "Android" | "Web";
                    /**
                     * @description ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
                     * @example 2026-11-20T04:21:00.123Z
                     */
                    updatedAt?: string | number;
                    /** @description Unix time in milliseconds; used if `replayed` is true. */
                    updatedAtMs?: number;
                    /** @description Age of the location in milliseconds, up to a day. Used if there is no `updatedAt` or `updatedAtMs`. */
                    updatedAtMsDiff?: number;
                    /** @description Whether the update was recorded earlier. Default false. */
                    replayed?: boolean;
                    deviceOS?: string;
                    deviceMake?: string;
                    deviceModel?: string;
                    /** @description What made an SDK send the update, such as `FOREGROUND_LOCATION`: stored with the user. */
                    source?: string;
                    /** @description Whether the location comes from an app that simulates locations. */
                    mocked?: boolean;
                    /** @description Whether the app found signs that the device is rooted or tampered with. */
                    compromised?: boolean;
                    /** @description Whether the screen is being shared. */
                    sharing?: boolean;
                    /** @description Whether this is a verified track. If the setting `fraud` is on, the answer then says whether the user passed. */
                    verified?: boolean;
                    installId?: string;
                    sdkVersion?: string;
                    /** @description The beacons in range. An empty list means that the device has left all beacons; without a list, the distance decides. */
                    beacons?: {
                        /** @description `ibeacon` or `eddystone`; if absent, it follows from the identifiers. */
                        type?: string;
                        uuid?: string | number;
                        major?: string | number;
                        minor?: string | number;
                        uid?: string | number;
                        instance?: string | number;
                        /** @description Signal strength in dBm; not used. */
                        rssi?: number;
                    }[];
                    /** @description Whether the response should contain `nearbyGeofences`: those within 100 km. */
                    nearbyGeofences?: boolean | number | string;
                    /** @description The maximum number of them, 1 to 100; 10 if it is absent or less than 1. */
                    nearbyGeofencesLimit?: number;
                    /** @description For deviceId `anonymous`: the `_id`s of `user.geofences` in the previous response. */
                    geofenceIds?: string[];
                    /** @description For deviceId `anonymous`: the `_id`s of `user.beacons` in the previous response. */
                    beaconIds?: string[];
                    /** @description For deviceId `anonymous`: the `_id` of `user.place` in the previous response. */
                    placeId?: string;
                    /** @description For deviceId `anonymous`: the `_id`s of `user.country`, `user.state`, `user.dma` and `user.postalCode` in the previous response. Without this field, the response has the regions of the location, but no events about them. */
                    regionIds?: string[];
                    /** @description The trip that the device is on, by its `externalId`. If there is no such trip, it is created with the other fields: `destinationGeofenceTag` and `destinationGeofenceExternalId`, `mode`, `approachingThreshold`, `scheduledArrivalAt`, `metadata`. These do not change a trip that exists. */
                    tripOptions?: unknown;
                    /** @description Identifies the stream of the sender. With `sequence`, an update that is sent again is applied only once. */
                    stream?: string;
                    /** @description Increases within the stream. */
                    sequence?: number;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        user: components["schemas"]["User"];
                        events: components["schemas"]["Event"][];
                        /** @description Whether the user passed; only for a verified track, if fraud is judged. */
                        passed?: boolean;
                        /** @description Why a verified track did not pass. */
                        failureReasons?: ("fraud_mocked_from_mock_provider" | "fraud_mocked_inconsistent_ip_country" | "fraud_jumped_single_device" | "fraud_compromised_reported" | "fraud_inaccurate_exceeded_accuracy_threshold" | "fraud_proxy_known_proxy_ip" | "fraud_sharing_reported" | "fraud_blocked_user_id" | "fraud_blocked_device_id" | "fraud_blocked_ip")[];
                        /** @description The enabled beacons within 1 km, for the SDK to range: nearest first, at most 100. */
                        nearbyBeacons: components["schemas"]["Beacon"][];
                        /** @description Only if the update requests them; nearest first. */
                        nearbyGeofences?: components["schemas"]["Geofence"][];
                    };
                };
            };
        };
    };
    postV1TrackReplay: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    replays: {
                        /** @description Identifies the device; without a `userId`, it identifies a logged-out user. `anonymous`: nothing is stored. */
                        deviceId: string;
                        /** @description Stable unique id of the user. Do not use personal data. */
                        userId?: string;
                        /** @description Degrees. */
                        latitude: number;
                        /** @description Degrees. */
                        longitude: number;
                        /** @description Metres, greater than 0. Required, except in requests from an SDK: there, confidence is 1 if it is missing. */
                        accuracy?: number;
                        foreground?: boolean;
                        stopped?: boolean;
                        description?: string;
                        /** @description Up to 32 keys, of 1 to 256 characters. */
                        metadata?: {
                            [key: string]: string | boolean | number;
                        };
                        /** @enum {string} */
                        deviceType?: "iOS" | "Android" | "Web";
                        /**
                         * @description ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
                         * @example 2026-11-20T04:21:00.123Z
                         */
                        updatedAt?: string | number;
                        /** @description Unix time in milliseconds; used if `replayed` is true. */
                        updatedAtMs?: number;
                        /** @description Age of the location in milliseconds, up to a day. Used if there is no `updatedAt` or `updatedAtMs`. */
                        updatedAtMsDiff?: number;
                        /** @description Whether the update was recorded earlier. Default false. */
                        replayed?: boolean;
                        deviceOS?: string;
                        deviceMake?: string;
                        deviceModel?: string;
                        /** @description What made an SDK send the update, such as `FOREGROUND_LOCATION`: stored with the user. */
                        source?: string;
                        /** @description Whether the location comes from an app that simulates locations. */
                        mocked?: boolean;
                        /** @description Whether the app found signs that the device is rooted or tampered with. */
                        compromised?: boolean;
                        /** @description Whether the screen is being shared. */
                        sharing?: boolean;
                        /** @description Whether this is a verified track. If the setting `fraud` is on, the answer then says whether the user passed. */
                        verified?: boolean;
                        installId?: string;
                        sdkVersion?: string;
                        /** @description The beacons in range. An empty list means that the device has left all beacons; without a list, the distance decides. */
                        beacons?: {
                            /** @description `ibeacon` or `eddystone`; if absent, it follows from the identifiers. */
                            type?: string;
                            uuid?: string | number;
                            major?: string | number;
                            minor?: string | number;
                            uid?: string | number;
                            instance?: string | number;
                            /** @description Signal strength in dBm; not used. */
                            rssi?: number;
                        }[];
                        /** @description Whether the response should contain `nearbyGeofences`: those within 100 km. */
                        nearbyGeofences?: boolean | number | string;
                        /** @description The maximum number of them, 1 to 100; 10 if it is absent or less than 1. */
                        nearbyGeofencesLimit?: number;
                        /** @description For deviceId `anonymous`: the `_id`s of `user.geofences` in the previous response. */
                        geofenceIds?: string[];
                        /** @description For deviceId `anonymous`: the `_id`s of `user.beacons` in the previous response. */
                        beaconIds?: string[];
                        /** @description For deviceId `anonymous`: the `_id` of `user.place` in the previous response. */
                        placeId?: string;
                        /** @description For deviceId `anonymous`: the `_id`s of `user.country`, `user.state`, `user.dma` and `user.postalCode` in the previous response. Without this field, the response has the regions of the location, but no events about them. */
                        regionIds?: string[];
                        /** @description The trip that the device is on, by its `externalId`. If there is no such trip, it is created with the other fields: `destinationGeofenceTag` and `destinationGeofenceExternalId`, `mode`, `approachingThreshold`, `scheduledArrivalAt`, `metadata`. These do not change a trip that exists. */
                        tripOptions?: unknown;
                        /** @description Identifies the stream of the sender. With `sequence`, an update that is sent again is applied only once. */
                        stream?: string;
                        /** @description Increases within the stream. */
                        sequence?: number;
                    }[];
                };
                "application/x-www-form-urlencoded": {
                    replays: {
                        /** @description Identifies the device; without a `userId`, it identifies a logged-out user. `anonymous`: nothing is stored. */
                        deviceId: string;
                        /** @description Stable unique id of the user. Do not use personal data. */
                        userId?: string;
                        /** @description Degrees. */
                        latitude: number;
                        /** @description Degrees. */
                        longitude: number;
                        /** @description Metres, greater than 0. Required, except in requests from an SDK: there, confidence is 1 if it is missing. */
                        accuracy?: number;
                        foreground?: boolean;
                        stopped?: boolean;
                        description?: string;
                        /** @description Up to 32 keys, of 1 to 256 characters. */
                        metadata?: {
                            [key: string]: string | boolean | number;
                        };
                        /** @enum {string} */
                        deviceType?: "iOS" | "Android" | "Web";
                        /**
                         * @description ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
                         * @example 2026-11-20T04:21:00.123Z
                         */
                        updatedAt?: string | number;
                        /** @description Unix time in milliseconds; used if `replayed` is true. */
                        updatedAtMs?: number;
                        /** @description Age of the location in milliseconds, up to a day. Used if there is no `updatedAt` or `updatedAtMs`. */
                        updatedAtMsDiff?: number;
                        /** @description Whether the update was recorded earlier. Default false. */
                        replayed?: boolean;
                        deviceOS?: string;
                        deviceMake?: string;
                        deviceModel?: string;
                        /** @description What made an SDK send the update, such as `FOREGROUND_LOCATION`: stored with the user. */
                        source?: string;
                        /** @description Whether the location comes from an app that simulates locations. */
                        mocked?: boolean;
                        /** @description Whether the app found signs that the device is rooted or tampered with. */
                        compromised?: boolean;
                        /** @description Whether the screen is being shared. */
                        sharing?: boolean;
                        /** @description Whether this is a verified track. If the setting `fraud` is on, the answer then says whether the user passed. */
                        verified?: boolean;
                        installId?: string;
                        sdkVersion?: string;
                        /** @description The beacons in range. An empty list means that the device has left all beacons; without a list, the distance decides. */
                        beacons?: {
                            /** @description `ibeacon` or `eddystone`; if absent, it follows from the identifiers. */
                            type?: string;
                            uuid?: string | number;
                            major?: string | number;
                            minor?: string | number;
                            uid?: string | number;
                            instance?: string | number;
                            /** @description Signal strength in dBm; not used. */
                            rssi?: number;
                        }[];
                        /** @description Whether the response should contain `nearbyGeofences`: those within 100 km. */
                        nearbyGeofences?: boolean | number | string;
                        /** @description The maximum number of them, 1 to 100; 10 if it is absent or less than 1. */
                        nearbyGeofencesLimit?: number;
                        /** @description For deviceId `anonymous`: the `_id`s of `user.geofences` in the previous response. */
                        geofenceIds?: string[];
                        /** @description For deviceId `anonymous`: the `_id`s of `user.beacons` in the previous response. */
                        beaconIds?: string[];
                        /** @description For deviceId `anonymous`: the `_id` of `user.place` in the previous response. */
                        placeId?: string;
                        /** @description For deviceId `anonymous`: the `_id`s of `user.country`, `user.state`, `user.dma` and `user.postalCode` in the previous response. Without this field, the response has the regions of the location, but no events about them. */
                        regionIds?: string[];
                        /** @description The trip that the device is on, by its `externalId`. If there is no such trip, it is created with the other fields: `destinationGeofenceTag` and `destinationGeofenceExternalId`, `mode`, `approachingThreshold`, `scheduledArrivalAt`, `metadata`. These do not change a trip that exists. */
                        tripOptions?: unknown;
                        /** @description Identifies the stream of the sender. With `sequence`, an update that is sent again is applied only once. */
                        stream?: string;
                        /** @description Increases within the stream. */
                        sequence?: number;
                    }[];
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /** @description Number of updates that were refused because of the country in which they lie. */
                            refusedUpdates?: number;
                            /** @description Number of events that are left out because there are too many; GET /v1/events has them, except those of `anonymous`. */
                            omittedEvents?: number;
                        };
                    } & {
                        user?: components["schemas"]["User"];
                        events: components["schemas"]["Event"][];
                        /** @description Whether the user passed; only for a verified track, if fraud is judged. */
                        passed?: boolean;
                        /** @description Why a verified track did not pass. */
                        failureReasons?: ("fraud_mocked_from_mock_provider" | "fraud_mocked_inconsistent_ip_country" | "fraud_jumped_single_device" | "fraud_compromised_reported" | "fraud_inaccurate_exceeded_accuracy_threshold" | "fraud_proxy_known_proxy_ip" | "fraud_sharing_reported" | "fraud_blocked_user_id" | "fraud_blocked_device_id" | "fraud_blocked_ip")[];
                        /** @description The enabled beacons within 1 km, for the SDK to range: nearest first, at most 100. */
                        nearbyBeacons?: components["schemas"]["Beacon"][];
                        /** @description Only if the update requests them; nearest first. */
                        nearbyGeofences?: components["schemas"]["Geofence"][];
                    };
                };
            };
        };
    };
    getV1Events: {
        parameters: {
            query?: {
                /** @example customer-1 */
                userId?: string;
                deviceId?: string;
                type?: string;
                /** @description Comma-separated. */
                types?: string;
                /** @description That of the geofence or beacon, or of the destination of the trip. */
                tag?: string;
                /** @description That of the geofence or beacon, or of the destination of the trip. */
                externalId?: string;
                /** @description The `_id` of the place. */
                placeId?: string;
                /** @description The slug of the place’s chain. */
                chain?: string;
                /** @description The slug of a category of the place. */
                category?: string;
                /** @description The code or `_id` of the region. */
                region?: string;
                /** @description One of the `failureReasons` of user.failed_fraud. */
                failureReason?: string;
                /** @description A text to look for in the userId or deviceId, in the description, tag or externalId of the geofence or beacon, in the externalId or destination of the trip, and in the name of the place. Upper and lower case are equal. */
                text?: string;
                /** @description Events with at least this `confidence`. */
                minimumConfidence?: number;
                /**
                 * @description Maximum number of records in the response.
                 * @example 2
                 */
                limit?: number;
                /** @description The `_id` of a record: the response has the records after it in the order of the list. The record need not match the filters. For the next page, send the `_id` of the last record that you have. */
                before?: string;
                /** @description Only records whose `createdAt` (the time of its update, which is in the past for a replay) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdBefore?: string | number;
                /** @description Only records whose `createdAt` (the time of its update, which is in the past for a replay) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdAfter?: string | number;
                /** @description Only records whose `actualCreatedAt` (when it arrived at the server) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                updatedBefore?: string | number;
                /** @description Only records whose `actualCreatedAt` (when it arrived at the server) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                updatedAfter?: string | number;
                /** @description `desc`: newest first, by `createdAt`. */
                order?: "asc" | "desc";
                /** @description Whether the answer should contain `meta.total`. */
                includeTotal?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /** @description Whether more records match than `limit`. */
                            hasMore: boolean;
                            /** @description How many records match the filters on all pages; only with `includeTotal`. */
                            total?: number;
                            /** @description The `before` of the next page, if this one ended early. */
                            next?: string;
                        };
                    } & {
                        events: components["schemas"]["Event"][];
                    };
                };
            };
        };
    };
    postV1Events: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The name of the event, chosen by the app; it becomes the type of the event. */
                    name?: string;
                    /** @description Used if `name` is absent. */
                    type?: string;
                    userId?: string;
                    /** @description If absent, the device on which the user was last seen. `anonymous`: nothing is stored. */
                    deviceId?: string;
                    installId?: string;
                    /** @description Up to 32 keys, of 1 to 256 characters. */
                    metadata?: {
                        [key: string]: string | boolean | number;
                    };
                    /**
                     * @description ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
                     * @example 2026-11-20T04:21:00.123Z
                     */
                    createdAt?: string | number;
                    /** @description Stored as `metadata.revenue`, where SDKs expect it. */
                    revenue?: number;
                } & ((unknown | unknown) & (unknown | unknown));
                "application/x-www-form-urlencoded": {
                    /** @description The name of the event, chosen by the app; it becomes the type of the event. */
                    name?: string;
                    /** @description Used if `name` is absent. */
                    type?: string;
                    userId?: string;
                    /** @description If absent, the device on which the user was last seen. `anonymous`: nothing is stored. */
                    deviceId?: string;
                    installId?: string;
                    /** @description Up to 32 keys, of 1 to 256 characters. */
                    metadata?: {
                        [key: string]: string | boolean | number;
                    };
                    /**
                     * @description ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
                     * @example 2026-11-20T04:21:00.123Z
                     */
                    createdAt?: string | number;
                    /** @description Stored as `metadata.revenue`, where SDKs expect it. */
                    revenue?: number;
                } & ((unknown | unknown) & (unknown | unknown));
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        event: components["schemas"]["Conversion"];
                    };
                };
            };
        };
    };
    getV1Context: {
        parameters: {
            query: {
                /**
                 * @description `latitude,longitude` in degrees.
                 * @example 52.5219,13.4132
                 */
                coordinates: string;
                /** @description Metres; not used. */
                accuracy?: string;
                /** @description With it, the geofences that are only for this user are shown, too. */
                userId?: string;
                /** @description Not used. */
                deviceId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /**
                             * @description The attribution to show with the regions and the place; absent without them.
                             * @example © OpenStreetMap contributors
                             */
                            attribution?: string;
                        };
                    } & {
                        context: {
                            /** @description The enabled geofences around the location. */
                            geofences: {
                                _id: string;
                                tag: string;
                                externalId: string;
                                description: string;
                                metadata?: {
                                    [key: string]: string | boolean | number;
                                };
                                /** @enum {string} */
                                type: "circle" | "polygon" | "isochrone";
                                geometryCenter: {
                                    /** @constant */
                                    type: "Point";
                                    /** @description [longitude, latitude] */
                                    coordinates: number[];
                                };
                                /** @description In metres: the radius of the circle, or of a circle around the polygon. */
                                geometryRadius: number;
                            }[];
                            /** @description Borders: © OpenStreetMap contributors. If you show it to others, show this credit. */
                            country?: {
                                _id: string;
                                /** @enum {unknown} */
                                type: "country" | "state" | "dma" | "postalCode";
                                /**
                                 * @example US
                                 * @example NY
                                 * @example 501
                                 * @example 11201
                                 */
                                code: string;
                                name: string;
                                /** @description Only for a country: its flag, as an emoji. */
                                flag?: string;
                            };
                            state?: {
                                _id: string;
                                /** @enum {unknown} */
                                type: "country" | "state" | "dma" | "postalCode";
                                /**
                                 * @example US
                                 * @example NY
                                 * @example 501
                                 * @example 11201
                                 */
                                code: string;
                                name: string;
                                /** @description Only for a country: its flag, as an emoji. */
                                flag?: string;
                            };
                            dma?: {
                                _id: string;
                                /** @enum {unknown} */
                                type: "country" | "state" | "dma" | "postalCode";
                                /**
                                 * @example US
                                 * @example NY
                                 * @example 501
                                 * @example 11201
                                 */
                                code: string;
                                name: string;
                                /** @description Only for a country: its flag, as an emoji. */
                                flag?: string;
                            };
                            postalCode?: {
                                _id: string;
                                /** @enum {unknown} */
                                type: "country" | "state" | "dma" | "postalCode";
                                /**
                                 * @example US
                                 * @example NY
                                 * @example 501
                                 * @example 11201
                                 */
                                code: string;
                                name: string;
                                /** @description Only for a country: its flag, as an emoji. */
                                flag?: string;
                            };
                            place?: {
                                _id: string;
                                name: string;
                                /** @description Slugs, root first. */
                                categories: string[];
                                location: {
                                    /** @constant */
                                    type: "Point";
                                    /** @description [longitude, latitude] */
                                    coordinates: number[];
                                };
                                chain?: {
                                    name: string;
                                    slug: string;
                                    domain?: string;
                                    /** @description Your own id of the chain, from the setting chainMappings. */
                                    externalId?: string;
                                    metadata?: {
                                        [key: string]: string | boolean | number;
                                    };
                                };
                            };
                        };
                        /** @description The enabled geofences around the location. */
                        geofences: {
                            _id: string;
                            tag: string;
                            externalId: string;
                            description: string;
                            metadata?: {
                                [key: string]: string | boolean | number;
                            };
                            /** @enum {string} */
                            type: "circle" | "polygon" | "isochrone";
                            geometryCenter: {
                                /** @constant */
                                type: "Point";
                                /** @description [longitude, latitude] */
                                coordinates: number[];
                            };
                            /** @description In metres: the radius of the circle, or of a circle around the polygon. */
                            geometryRadius: number;
                        }[];
                        /** @description Borders: © OpenStreetMap contributors. If you show it to others, show this credit. */
                        country?: {
                            _id: string;
                            /** @enum {unknown} */
                            type: "country" | "state" | "dma" | "postalCode";
                            /**
                             * @example US
                             * @example NY
                             * @example 501
                             * @example 11201
                             */
                            code: string;
                            name: string;
                            /** @description Only for a country: its flag, as an emoji. */
                            flag?: string;
                        };
                        state?: {
                            _id: string;
                            /** @enum {unknown} */
                            type: "country" | "state" | "dma" | "postalCode";
                            /**
                             * @example US
                             * @example NY
                             * @example 501
                             * @example 11201
                             */
                            code: string;
                            name: string;
                            /** @description Only for a country: its flag, as an emoji. */
                            flag?: string;
                        };
                        dma?: {
                            _id: string;
                            /** @enum {unknown} */
                            type: "country" | "state" | "dma" | "postalCode";
                            /**
                             * @example US
                             * @example NY
                             * @example 501
                             * @example 11201
                             */
                            code: string;
                            name: string;
                            /** @description Only for a country: its flag, as an emoji. */
                            flag?: string;
                        };
                        postalCode?: {
                            _id: string;
                            /** @enum {unknown} */
                            type: "country" | "state" | "dma" | "postalCode";
                            /**
                             * @example US
                             * @example NY
                             * @example 501
                             * @example 11201
                             */
                            code: string;
                            name: string;
                            /** @description Only for a country: its flag, as an emoji. */
                            flag?: string;
                        };
                        place?: {
                            _id: string;
                            name: string;
                            /** @description Slugs, root first. */
                            categories: string[];
                            location: {
                                /** @constant */
                                type: "Point";
                                /** @description [longitude, latitude] */
                                coordinates: number[];
                            };
                            chain?: {
                                name: string;
                                slug: string;
                                domain?: string;
                                /** @description Your own id of the chain, from the setting chainMappings. */
                                externalId?: string;
                                metadata?: {
                                    [key: string]: string | boolean | number;
                                };
                            };
                        };
                    };
                };
            };
        };
    };
    getV1Config: {
        parameters: {
            query?: {
                /**
                 * @description Not used. The other parameters that SDKs send are not used either.
                 * @example b7e1f2a4-6d0c-4a53-9f0e-51d1c7a2e9aa
                 */
                deviceId?: string;
                installId?: string;
                sessionId?: string;
                locationAuthorization?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            settings: {
                                beacons: {
                                    /** @description Identifiers to range, instead of the nearby beacons. */
                                    uuids: string[];
                                    uids: string[];
                                };
                            };
                            /** @description The first four are settings of the project, from which an SDK can see what the server will decide; the others are the defaults of the SDKs. */
                            sdkConfiguration: {
                                stopDetection: boolean;
                                bufferGeofenceEntries: boolean;
                                bufferGeofenceExits: boolean;
                                /** @description Minutes; 0: none. */
                                defaultGeofenceDwellThreshold: number;
                                logLevel: string;
                                skipForegroundCheck: boolean;
                                useOpenedAppConversion: boolean;
                                networkAny: boolean;
                                maxConcurrentJobs: number;
                                locationManagerTimeout: number;
                                maxReplayBufferSize: number;
                                startTrackingOnInitialize: boolean;
                                trackOnceOnAppOpen: boolean;
                                usePersistence: boolean;
                                extendFlushReplays: boolean;
                                useLogPersistence: boolean;
                                useRadarModifiedBeacon: boolean;
                                useLocationMetadata: boolean;
                                useForegroundLocationUpdatedAtMsDiff: boolean;
                                useNotificationDiff: boolean;
                                useNotificationDiffV2: boolean;
                                syncAfterSetUser: boolean;
                                useSyncRegion: boolean;
                                useOfflineRTOUpdates: boolean;
                                offlineEventGenerationEnabled: boolean;
                                startUpdatesWhileInUse: boolean;
                                useSwiftLocationManager: boolean;
                                useSwiftVerificationManager: boolean;
                            };
                            /** @description Older SDKs read this instead. It contains their defaults. */
                            featureSettings: {
                                usePersistence: boolean;
                                extendFlushReplays: boolean;
                                useLogPersistence: boolean;
                                useRadarModifiedBeacon: boolean;
                                useLocationMetadata: boolean;
                                useRadarKVStore: boolean;
                                networkAny: boolean;
                                maxConcurrentJobs: number;
                                radarLowPowerManagerDesiredAccuracy: number;
                                radarLowPowerManagerDistanceFilter: number;
                            };
                        };
                    } & Record<string, unknown>;
                };
            };
        };
    };
    postV1Logs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & Record<string, unknown>;
                };
            };
        };
    };
    postV1SearchAutocompleteClick: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    sessionToken?: unknown;
                    requestId?: unknown;
                    idx?: unknown;
                };
                "application/x-www-form-urlencoded": {
                    sessionToken?: unknown;
                    requestId?: unknown;
                    idx?: unknown;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & Record<string, unknown>;
                };
            };
        };
    };
    postV1SyncRegion: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Degrees. */
                    latitude: number;
                    /** @description Degrees. */
                    longitude: number;
                    userId?: string;
                };
                "application/x-www-form-urlencoded": {
                    /** @description Degrees. */
                    latitude: number;
                    /** @description Degrees. */
                    longitude: number;
                    userId?: string;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        /** @description Nearest first. */
                        geofences: components["schemas"]["Geofence"][];
                        /** @description Nearest first. */
                        places: {
                            _id: string;
                            name: string;
                            /** @description Slugs, root first. */
                            categories: string[];
                            location: {
                                /** @constant */
                                type: "Point";
                                /** @description [longitude, latitude] */
                                coordinates: number[];
                            };
                            chain?: {
                                name: string;
                                slug: string;
                                domain?: string;
                                /** @description Your own id of the chain, from the setting chainMappings. */
                                externalId?: string;
                                metadata?: {
                                    [key: string]: string | boolean | number;
                                };
                            };
                            /** @description The radius in metres of a circle around `location` that contains the place. */
                            geometryRadius: number;
                        }[];
                        /** @description Nearest first. */
                        beacons: components["schemas"]["Beacon"][];
                        region: {
                            /** @description Degrees. */
                            latitude: number;
                            /** @description Degrees. */
                            longitude: number;
                            /** @description Metres. */
                            radius: number;
                        };
                    };
                };
            };
        };
    };
    getV1Users: {
        parameters: {
            query?: {
                userId?: string;
                deviceId?: string;
                /** @description Only users who are in the place with this `_id`; needs the setting `places`. */
                placeId?: string;
                /** @description Only users who, by their last update, belong to the segment with this externalId. */
                segment?: string;
                /** @description A text to look for in the userId, deviceId and description. Upper and lower case are equal. The search looks at every user. */
                text?: string;
                sortBy?: "createdAt" | "updatedAt";
                order?: "asc" | "desc";
                /** @description Whether the answer should contain `meta.total`. */
                includeTotal?: boolean;
                /**
                 * @description Maximum number of records in the response.
                 * @example 2
                 */
                limit?: number;
                /** @description The `_id` of a record: the response has the records after it in the order of the list. The record need not match the filters. For the next page, send the `_id` of the last record that you have. */
                before?: string;
                /** @description Only records whose `createdAt` (when the first update of the record arrived at the server) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdBefore?: string | number;
                /** @description Only records whose `createdAt` (when the first update of the record arrived at the server) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdAfter?: string | number;
                /** @description Only records whose `updatedAt` (the time of the last update, which is in the past for a replay) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                updatedBefore?: string | number;
                /** @description Only records whose `updatedAt` (the time of the last update, which is in the past for a replay) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                updatedAfter?: string | number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /** @description Whether more records match than `limit`. */
                            hasMore: boolean;
                            /** @description How many records match the filters on all pages; only with `includeTotal`. */
                            total?: number;
                        };
                    } & {
                        users: components["schemas"]["User"][];
                    };
                };
            };
        };
    };
    getV1UsersById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `_id`, userId or deviceId.
                 * @example b7e1f2a4-6d0c-4a53-9f0e-51d1c7a2e9aa
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        user: components["schemas"]["User"];
                    };
                };
            };
        };
    };
    deleteV1UsersById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `_id`, userId or deviceId.
                 * @example van-7
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & Record<string, unknown>;
                };
            };
        };
    };
    getV1UsersByIdExplain: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `_id`, userId or deviceId.
                 * @example customer-1
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        user: components["schemas"]["User"];
                        explanation: {
                            update: {
                                /**
                                 * Format: date-time
                                 * @example 2026-11-20T04:21:00.123Z
                                 */
                                time: string;
                                /**
                                 * Format: date-time
                                 * @example 2026-11-20T04:21:00.123Z
                                 */
                                receivedAt: string;
                                latitude: number;
                                longitude: number;
                                /** @description Metres. */
                                accuracy?: number;
                                userId?: string;
                                ip: string;
                                foreground: boolean;
                                stopped: boolean;
                                replayed: boolean;
                            };
                            /** @description As in GET /v1/settings. */
                            settings: Record<string, unknown>;
                            /** @description Why the update touched no geofence at all. */
                            note?: string;
                            candidates: {
                                geofence: {
                                    _id: string;
                                    tag?: string;
                                    externalId?: string;
                                    description?: string;
                                };
                                /** @description Before the update. */
                                wasInside: boolean;
                                /**
                                 * Format: date-time
                                 * @example 2026-11-20T04:21:00.123Z
                                 */
                                enteredAt?: string;
                                /** @description Metres to the boundary, negative inside. */
                                distance?: number;
                                /** @description Share of the accuracy disc that the geofence covers, 0 to 1. */
                                coverage?: number;
                                confidence?: number;
                                eligible?: boolean;
                                /** @description The first rule that prevents events of this geofence. */
                                ineligible?: string;
                                currentlyOperating?: boolean;
                                outcome: string;
                                /** @description Type of the event, if there was one. */
                                event?: string;
                                /** @description A sentence that explains the outcome. */
                                reason: string;
                                /**
                                 * Format: date-time
                                 * @example 2026-11-20T04:21:00.123Z
                                 */
                                changedSince?: string;
                            }[];
                            /** @description One for each kind of region, if regions are on. */
                            regions?: {
                                /** @enum {unknown} */
                                type: "country" | "state" | "dma" | "postalCode";
                                /** @description Code of the region before the update. */
                                was?: string;
                                /** @description Code of the region in which the location lies. */
                                is?: string;
                                confidence: number;
                                /** @description same, changed or withheld. */
                                outcome: string;
                                /** @description A sentence that explains the outcome. */
                                reason: string;
                            }[];
                            /** @description Why the explanation has nothing about regions. */
                            regionsNote?: string;
                            place?: {
                                /** @description The place in which the user was before the update. */
                                was?: {
                                    _id: string;
                                    name: string;
                                };
                                /** @description Distance from its edge in metres, if it is near. */
                                distance?: number;
                                /** @description The confidence of the first candidate. */
                                confidence?: number;
                                /**
                                 * Format: date-time
                                 * @description Since when the same place is the first candidate, if the user is not in it.
                                 */
                                firstSince?: string;
                                /** @description By how many metres the second candidate is farther away than the first. */
                                runnerUpMeters?: number;
                                /** @description The types of the events about the place. */
                                events: string[];
                                /** @description Sentences that explain the outcome. */
                                reason: string;
                                /** @description The most likely first. */
                                candidates: {
                                    place: {
                                        _id: string;
                                        name: string;
                                        categories: string[];
                                        /** @description Its slug. */
                                        chain?: string;
                                    };
                                    /** @description Distance from its edge in metres, negative inside. */
                                    distance: number;
                                    /** @description Distance from its point in metres. */
                                    pointDistance: number;
                                }[];
                            };
                            /** @description Why the explanation has nothing about places. */
                            placesNote?: string;
                        };
                    };
                };
            };
        };
    };
    getV1SearchUsers: {
        parameters: {
            query: {
                /**
                 * @description `latitude,longitude` in degrees.
                 * @example 52.5200,13.4130
                 */
                near: string;
                /**
                 * @description Metres, 100 to 10,000; with `mode`, minutes of travel to the location, 1 to 10,000.
                 * @example 500
                 */
                radius?: number;
                /** @description The radius is in minutes of travel, and the users with the shortest travel time come first. Users who are too far away for the routing engine are not found. */
                mode?: "car" | "truck" | "foot" | "bike" | "motorbike";
                /** @description `metadata[key]=value`: matches the value as a string, and also as a boolean or number. */
                metadata?: {
                    [key: string]: string;
                };
                /** @description Only users whose `updatedAt` is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                updatedAfter?: string | number;
                /** @description Metres. Only users whose last location is at least this accurate are found, and those whose location has no accuracy. */
                maxAccuracy?: number;
                /**
                 * @description Maximum number of records in the response.
                 * @example 10
                 */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        users: components["schemas"]["User"][];
                    };
                };
            };
        };
    };
    getV1GeofencesByIdUsers: {
        parameters: {
            query?: {
                /** @description Maximum number of records in the response. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @example 327fbcafc916e187d1dd4541 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /** @description Whether more records match than `limit`. */
                            hasMore: boolean;
                        };
                    } & {
                        users: components["schemas"]["User"][];
                    };
                };
            };
        };
    };
    getV1GeofencesByTagByExternalIdUsers: {
        parameters: {
            query?: {
                /** @description Maximum number of records in the response. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @example store */
                tag: string;
                /** @example alexanderplatz */
                externalId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /** @description Whether more records match than `limit`. */
                            hasMore: boolean;
                        };
                    } & {
                        users: components["schemas"]["User"][];
                    };
                };
            };
        };
    };
    getV1BeaconsByIdUsers: {
        parameters: {
            query?: {
                /** @description Maximum number of records in the response. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @example d8fb3b5f55a1c8529b592c20 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /** @description Whether more records match than `limit`. */
                            hasMore: boolean;
                        };
                    } & {
                        users: components["schemas"]["User"][];
                    };
                };
            };
        };
    };
    getV1BeaconsByTagByExternalIdUsers: {
        parameters: {
            query?: {
                /** @description Maximum number of records in the response. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @example shelf */
                tag: string;
                /** @example bakery */
                externalId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /** @description Whether more records match than `limit`. */
                            hasMore: boolean;
                        };
                    } & {
                        users: components["schemas"]["User"][];
                    };
                };
            };
        };
    };
    getV1Trips: {
        parameters: {
            query?: {
                /**
                 * @description One or more of pending, started, approaching, arrived, completed, canceled, expired, separated by commas.
                 * @example started,approaching,arrived
                 */
                status?: string;
                /** @description That of the destination, or of any leg. */
                destinationGeofenceTag?: string;
                destinationGeofenceExternalId?: string;
                /** @description One or more, separated by commas. */
                externalId?: string;
                /** @description The userId of the trip’s user, or their `_id`. */
                userId?: string;
                /** @description Only trips that are late, or only the others. */
                delayed?: boolean;
                /** @description Default false. */
                includeLocations?: boolean;
                /** @description With `includeLocations`: the maximum number of locations of each trip; the latest are shown. By default all. */
                maxLocations?: number;
                /** @description The latest first. Default `updatedAt`. */
                sortBy?: "createdAt" | "updatedAt";
                /**
                 * @description Maximum number of records in the response.
                 * @example 10
                 */
                limit?: number;
                /** @description The `_id` of a record: the response has the records after it in the order of the list. The record need not match the filters. For the next page, send the `_id` of the last record that you have. */
                before?: string;
                /** @description Only records whose `createdAt` (when the trip was created) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdBefore?: string | number;
                /** @description Only records whose `createdAt` (when the trip was created) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdAfter?: string | number;
                /** @description Only records whose `updatedAt` (of the last change or location) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                updatedBefore?: string | number;
                /** @description Only records whose `updatedAt` (of the last change or location) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                updatedAfter?: string | number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /** @description Whether more records match than `limit`. */
                            hasMore: boolean;
                        };
                    } & {
                        trips: components["schemas"]["Trip"][];
                    };
                };
            };
        };
    };
    postV1Trips: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Your own id of the trip, such as that of an order. */
                    externalId: string;
                    /** @description The user whose location updates move the trip. It can be set once. */
                    userId?: string;
                    /** @description Tag of the geofence where the trip ends; with `destinationGeofenceExternalId`. */
                    destinationGeofenceTag?: string;
                    /** @description The externalId of that geofence. */
                    destinationGeofenceExternalId?: string;
                    /** @description How the user travels: car, truck, foot, bike, motorbike. Default `car`. */
                    mode?: string;
                    /** @description Minutes before arrival at which the trip is approaching: above 0 to 1440. */
                    approachingThreshold?: number | string;
                    /**
                     * @description ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
                     * @example 2026-11-20T04:21:00.123Z
                     */
                    scheduledArrivalAt?: string | number;
                    /** @description Up to 32 keys; values are strings, booleans or numbers. It replaces the whole metadata. */
                    metadata?: {
                        [key: string]: unknown;
                    } | string;
                    /** @description 1 to 25 stops, instead of a destination. Each has a `destination`: `destinationGeofenceTag` and `destinationGeofenceExternalId`, `destinationGeofenceId`, `address`, or `coordinates` ([longitude, latitude]), of which the first counts. The last two may have an `arrivalRadius` in metres, 10 to 10,000, default 100. A stop may also have `stopDuration` (minutes, 0 to 1440) and `metadata`. A leg with the `_id` of a leg of the trip keeps the state of that leg. */
                    legs?: unknown[] | string;
                };
                "application/x-www-form-urlencoded": {
                    /** @description Your own id of the trip, such as that of an order. */
                    externalId: string;
                    /** @description The user whose location updates move the trip. It can be set once. */
                    userId?: string;
                    /** @description Tag of the geofence where the trip ends; with `destinationGeofenceExternalId`. */
                    destinationGeofenceTag?: string;
                    /** @description The externalId of that geofence. */
                    destinationGeofenceExternalId?: string;
                    /** @description How the user travels: car, truck, foot, bike, motorbike. Default `car`. */
                    mode?: string;
                    /** @description Minutes before arrival at which the trip is approaching: above 0 to 1440. */
                    approachingThreshold?: number | string;
                    /**
                     * @description ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
                     * @example 2026-11-20T04:21:00.123Z
                     */
                    scheduledArrivalAt?: string | number;
                    /** @description Up to 32 keys; values are strings, booleans or numbers. It replaces the whole metadata. */
                    metadata?: {
                        [key: string]: unknown;
                    } | string;
                    /** @description 1 to 25 stops, instead of a destination. Each has a `destination`: `destinationGeofenceTag` and `destinationGeofenceExternalId`, `destinationGeofenceId`, `address`, or `coordinates` ([longitude, latitude]), of which the first counts. The last two may have an `arrivalRadius` in metres, 10 to 10,000, default 100. A stop may also have `stopDuration` (minutes, 0 to 1440) and `metadata`. A leg with the `_id` of a leg of the trip keeps the state of that leg. */
                    legs?: unknown[] | string;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        trip: components["schemas"]["Trip"];
                        events: components["schemas"]["TripEvent"][];
                    };
                };
            };
        };
    };
    patchV1TripsByIdUpdate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `_id` or externalId. If several trips have this externalId, the active one counts, or else the latest.
                 * @example order-1842
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description The user whose location updates move the trip. It can be set once. */
                    userId?: string;
                    /** @description Tag of the geofence where the trip ends; with `destinationGeofenceExternalId`. */
                    destinationGeofenceTag?: string;
                    /** @description The externalId of that geofence. */
                    destinationGeofenceExternalId?: string;
                    /** @description How the user travels: car, truck, foot, bike, motorbike. Default `car`. */
                    mode?: string;
                    /** @description Minutes before arrival at which the trip is approaching: above 0 to 1440. */
                    approachingThreshold?: number | string;
                    /**
                     * @description ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
                     * @example 2026-11-20T04:21:00.123Z
                     */
                    scheduledArrivalAt?: string | number;
                    /** @description Up to 32 keys; values are strings, booleans or numbers. It replaces the whole metadata. */
                    metadata?: {
                        [key: string]: unknown;
                    } | string;
                    /** @description 1 to 25 stops, instead of a destination. Each has a `destination`: `destinationGeofenceTag` and `destinationGeofenceExternalId`, `destinationGeofenceId`, `address`, or `coordinates` ([longitude, latitude]), of which the first counts. The last two may have an `arrivalRadius` in metres, 10 to 10,000, default 100. A stop may also have `stopDuration` (minutes, 0 to 1440) and `metadata`. A leg with the `_id` of a leg of the trip keeps the state of that leg. */
                    legs?: unknown[] | string;
                    /** @description One of pending, started, approaching, arrived, completed, canceled. */
                    status?: string;
                };
                "application/x-www-form-urlencoded": {
                    /** @description The user whose location updates move the trip. It can be set once. */
                    userId?: string;
                    /** @description Tag of the geofence where the trip ends; with `destinationGeofenceExternalId`. */
                    destinationGeofenceTag?: string;
                    /** @description The externalId of that geofence. */
                    destinationGeofenceExternalId?: string;
                    /** @description How the user travels: car, truck, foot, bike, motorbike. Default `car`. */
                    mode?: string;
                    /** @description Minutes before arrival at which the trip is approaching: above 0 to 1440. */
                    approachingThreshold?: number | string;
                    /**
                     * @description ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
                     * @example 2026-11-20T04:21:00.123Z
                     */
                    scheduledArrivalAt?: string | number;
                    /** @description Up to 32 keys; values are strings, booleans or numbers. It replaces the whole metadata. */
                    metadata?: {
                        [key: string]: unknown;
                    } | string;
                    /** @description 1 to 25 stops, instead of a destination. Each has a `destination`: `destinationGeofenceTag` and `destinationGeofenceExternalId`, `destinationGeofenceId`, `address`, or `coordinates` ([longitude, latitude]), of which the first counts. The last two may have an `arrivalRadius` in metres, 10 to 10,000, default 100. A stop may also have `stopDuration` (minutes, 0 to 1440) and `metadata`. A leg with the `_id` of a leg of the trip keeps the state of that leg. */
                    legs?: unknown[] | string;
                    /** @description One of pending, started, approaching, arrived, completed, canceled. */
                    status?: string;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        trip: components["schemas"]["Trip"];
                        events: components["schemas"]["TripEvent"][];
                    };
                };
            };
        };
    };
    getV1TripsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `_id` or externalId. If several trips have this externalId, the active one counts, or else the latest.
                 * @example order-1842
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        trip: components["schemas"]["Trip"];
                        _id: string;
                        live: boolean;
                        externalId: string;
                        userId?: string;
                        metadata?: {
                            [key: string]: string | boolean | number;
                        };
                        /** @enum {string} */
                        mode: "car" | "truck" | "foot" | "bike" | "motorbike";
                        /** @enum {string} */
                        status: "pending" | "started" | "approaching" | "arrived" | "completed" | "canceled" | "expired";
                        /**
                         * Format: date-time
                         * @example 2026-11-20T04:21:00.123Z
                         */
                        createdAt: string;
                        /**
                         * Format: date-time
                         * @example 2026-11-20T04:21:00.123Z
                         */
                        updatedAt: string;
                        /**
                         * Format: date-time
                         * @example 2026-11-20T04:21:00.123Z
                         */
                        startedAt?: string;
                        /**
                         * Format: date-time
                         * @example 2026-11-20T04:21:00.123Z
                         */
                        arrivedAt?: string;
                        /**
                         * Format: date-time
                         * @example 2026-11-20T04:21:00.123Z
                         */
                        completedAt?: string;
                        /**
                         * Format: date-time
                         * @example 2026-11-20T04:21:00.123Z
                         */
                        endedAt?: string;
                        /**
                         * Format: date-time
                         * @example 2026-11-20T04:21:00.123Z
                         */
                        scheduledArrivalAt?: string;
                        /** @description Minutes; the value that was set for this trip. */
                        approachingThreshold?: number;
                        destinationGeofenceTag?: string;
                        destinationGeofenceExternalId?: string;
                        destinationLocation?: {
                            /** @constant */
                            type: "Point";
                            /** @description [longitude, latitude] */
                            coordinates: number[];
                        };
                        eta?: {
                            /** @description Minutes, with one decimal. */
                            duration: number;
                            /** @description Metres. */
                            distance: number;
                            /**
                             * @description `straight`: 1.3 times the straight line, because the routing engine has no answer.
                             * @enum {string}
                             */
                            source: "road" | "straight";
                        };
                        delay?: {
                            delayed: boolean;
                            /** @description Minutes, with one decimal. */
                            scheduledArrivalTimeDelay: number;
                        };
                        legs?: components["schemas"]["Leg"][];
                        /** @description The `_id` of the leg whose destination is the trip’s. */
                        currentLeg?: string;
                        currentLegId?: string;
                        /** @description The user who moved the trip last; before that, the latest record of its `userId`. With a publishable key, only if the `userId` in the body is that of the trip. */
                        user?: {
                            _id: string;
                            userId?: string;
                            deviceId: string;
                        };
                        /** @description The locations of the trip, oldest first. Empty with a publishable key. */
                        locations: {
                            /** @constant */
                            type: "Point";
                            /** @description [longitude, latitude] */
                            coordinates: number[];
                            /**
                             * Format: date-time
                             * @example 2026-11-20T04:21:00.123Z
                             */
                            updatedAt: string;
                        }[];
                    };
                };
            };
        };
    };
    deleteV1TripsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `_id` or externalId. If several trips have this externalId, the active one counts, or else the latest.
                 * @example round-3
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & Record<string, unknown>;
                };
            };
        };
    };
    patchV1TripsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `_id` or externalId. If several trips have this externalId, the active one counts, or else the latest.
                 * @example order-1842
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description The user whose location updates move the trip. It can be set once. */
                    userId?: string;
                    /** @description Tag of the geofence where the trip ends; with `destinationGeofenceExternalId`. */
                    destinationGeofenceTag?: string;
                    /** @description The externalId of that geofence. */
                    destinationGeofenceExternalId?: string;
                    /** @description How the user travels: car, truck, foot, bike, motorbike. Default `car`. */
                    mode?: string;
                    /** @description Minutes before arrival at which the trip is approaching: above 0 to 1440. */
                    approachingThreshold?: number | string;
                    /**
                     * @description ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
                     * @example 2026-11-20T04:21:00.123Z
                     */
                    scheduledArrivalAt?: string | number;
                    /** @description Up to 32 keys; values are strings, booleans or numbers. It replaces the whole metadata. */
                    metadata?: {
                        [key: string]: unknown;
                    } | string;
                    /** @description 1 to 25 stops, instead of a destination. Each has a `destination`: `destinationGeofenceTag` and `destinationGeofenceExternalId`, `destinationGeofenceId`, `address`, or `coordinates` ([longitude, latitude]), of which the first counts. The last two may have an `arrivalRadius` in metres, 10 to 10,000, default 100. A stop may also have `stopDuration` (minutes, 0 to 1440) and `metadata`. A leg with the `_id` of a leg of the trip keeps the state of that leg. */
                    legs?: unknown[] | string;
                    /** @description One of pending, started, approaching, arrived, completed, canceled. */
                    status?: string;
                };
                "application/x-www-form-urlencoded": {
                    /** @description The user whose location updates move the trip. It can be set once. */
                    userId?: string;
                    /** @description Tag of the geofence where the trip ends; with `destinationGeofenceExternalId`. */
                    destinationGeofenceTag?: string;
                    /** @description The externalId of that geofence. */
                    destinationGeofenceExternalId?: string;
                    /** @description How the user travels: car, truck, foot, bike, motorbike. Default `car`. */
                    mode?: string;
                    /** @description Minutes before arrival at which the trip is approaching: above 0 to 1440. */
                    approachingThreshold?: number | string;
                    /**
                     * @description ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
                     * @example 2026-11-20T04:21:00.123Z
                     */
                    scheduledArrivalAt?: string | number;
                    /** @description Up to 32 keys; values are strings, booleans or numbers. It replaces the whole metadata. */
                    metadata?: {
                        [key: string]: unknown;
                    } | string;
                    /** @description 1 to 25 stops, instead of a destination. Each has a `destination`: `destinationGeofenceTag` and `destinationGeofenceExternalId`, `destinationGeofenceId`, `address`, or `coordinates` ([longitude, latitude]), of which the first counts. The last two may have an `arrivalRadius` in metres, 10 to 10,000, default 100. A stop may also have `stopDuration` (minutes, 0 to 1440) and `metadata`. A leg with the `_id` of a leg of the trip keeps the state of that leg. */
                    legs?: unknown[] | string;
                    /** @description One of pending, started, approaching, arrived, completed, canceled. */
                    status?: string;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        trip: components["schemas"]["Trip"];
                        events: components["schemas"]["TripEvent"][];
                    };
                };
            };
        };
    };
    patchV1TripsByIdLegsByLegId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `_id` or externalId. If several trips have this externalId, the active one counts, or else the latest.
                 * @example round-3
                 */
                id: string;
                /**
                 * @description `_id` of the leg.
                 * @example b9046a576a79aaf1791adbbf
                 */
                legId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description One of pending, started, approaching, arrived, completed, canceled. */
                    status: string;
                    /** @description If this is the userId of the trip, the answer contains its user. */
                    userId?: string;
                };
                "application/x-www-form-urlencoded": {
                    /** @description One of pending, started, approaching, arrived, completed, canceled. */
                    status: string;
                    /** @description If this is the userId of the trip, the answer contains its user. */
                    userId?: string;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        trip: components["schemas"]["Trip"];
                        events: components["schemas"]["TripEvent"][];
                        leg: components["schemas"]["Leg"];
                    };
                };
            };
        };
    };
    putV1TripsByIdLegs: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description `_id` or externalId. If several trips have this externalId, the active one counts, or else the latest.
                 * @example round-3
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description If this is the userId of the trip, the answer contains its user. */
                    userId?: string;
                    /** @description The `_id`s of the legs in their new order. Every open leg must be there once; closed legs may be left out. */
                    legs: unknown[] | string;
                };
                "application/x-www-form-urlencoded": {
                    /** @description If this is the userId of the trip, the answer contains its user. */
                    userId?: string;
                    /** @description The `_id`s of the legs in their new order. Every open leg must be there once; closed legs may be left out. */
                    legs: unknown[] | string;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        trip: components["schemas"]["Trip"];
                        events: components["schemas"]["TripEvent"][];
                    };
                };
            };
        };
    };
    getV1TripsByIdRoute: {
        parameters: {
            query?: {
                /**
                 * @description `metric`: distances in metres, and their texts in kilometres. `imperial`: feet and miles.
                 * @example metric
                 */
                units?: "metric" | "imperial";
                /** @description The route as GeoJSON, or as a polyline with five or six digits; `polyline` has five. */
                geometry?: "linestring" | "polyline5" | "polyline6" | "polyline";
            };
            header?: never;
            path: {
                /**
                 * @description `_id` or externalId. If several trips have this externalId, the active one counts, or else the latest.
                 * @example order-1842
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /**
                             * @description The attribution to show with the result.
                             * @example © OpenStreetMap contributors
                             */
                            attribution?: string;
                        };
                    } & {
                        /** @description The length of the route. */
                        distance: {
                            /** @description Metres, or feet. */
                            value: number;
                            /** @example 5.6 mi */
                            text: string;
                        };
                        /** @description The route in the format that `geometry` asks for. */
                        geometry: {
                            /** @enum {string} */
                            type: "polyline5" | "polyline6";
                            /** @description An encoded polyline in the format of Google, with five or six digits, as `type` says. */
                            polyline: string;
                        } | {
                            /** @constant */
                            type: "LineString";
                            coordinates: number[][];
                        };
                        /** @description Whether the route follows roads. */
                        matched: boolean;
                    };
                };
            };
        };
    };
    getV1ExportsEvents: {
        parameters: {
            query?: {
                format?: "csv" | "ndjson";
                userId?: string;
                deviceId?: string;
                type?: string;
                /** @description Comma-separated. */
                types?: string;
                /**
                 * @description That of the geofence or beacon, or of the destination of the trip.
                 * @example bar
                 */
                tag?: string;
                /** @description That of the geofence or beacon, or of the destination of the trip. */
                externalId?: string;
                /** @description The `_id` of the place. */
                placeId?: string;
                /** @description The slug of the place’s chain. */
                chain?: string;
                /** @description The slug of a category of the place. */
                category?: string;
                /** @description The code or `_id` of the region. */
                region?: string;
                /** @description One of the `failureReasons` of user.failed_fraud. */
                failureReason?: string;
                /** @description A text to look for in the userId or deviceId, in the description, tag or externalId of the geofence or beacon, in the externalId or destination of the trip, and in the name of the place. Upper and lower case are equal. */
                text?: string;
                /** @description Events with at least this `confidence`. */
                minimumConfidence?: number;
                /** @description Only records whose `createdAt` (the time of its update, which is in the past for a replay) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdBefore?: string | number;
                /** @description Only records whose `createdAt` (the time of its update, which is in the past for a replay) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdAfter?: string | number;
                /** @description Only records whose `actualCreatedAt` (when it arrived at the server) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                updatedBefore?: string | number;
                /** @description Only records whose `actualCreatedAt` (when it arrived at the server) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                updatedAfter?: string | number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                    "application/x-ndjson": components["schemas"]["Event"];
                };
            };
        };
    };
    getV1EventsCounts: {
        parameters: {
            query?: {
                /** @description The start. Default: an hour before `to`. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                from?: string | number;
                /** @description The end, exclusive. Default: now. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                to?: string | number;
                /**
                 * @description Seconds.
                 * @example 3600
                 */
                step?: number;
                /** @description Comma-separated. */
                types?: string;
                /** @description That of the geofence or beacon, or of the destination of the trip. */
                tag?: string;
                /** @description That of the geofence or beacon, or of the destination of the trip. */
                externalId?: string;
                /** @description The `_id` of the place. */
                placeId?: string;
                /** @description The slug of the place’s chain. */
                chain?: string;
                /** @description The slug of a category of the place. */
                category?: string;
                /** @description The code or `_id` of the region. */
                region?: string;
                /** @description One of the `failureReasons` of user.failed_fraud. */
                failureReason?: string;
                /** @description A text to look for in the userId or deviceId, in the description, tag or externalId of the geofence or beacon, in the externalId or destination of the trip, and in the name of the place. Upper and lower case are equal. */
                text?: string;
                /** @description Events with at least this `confidence`. */
                minimumConfidence?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        counts: {
                            /**
                             * Format: date-time
                             * @description The start of the interval.
                             */
                            from: string;
                            total: number;
                            /** @description By type of event. */
                            types: {
                                [key: string]: number;
                            };
                        }[];
                    };
                };
            };
        };
    };
    getV1EventsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The `_id` of the event.
                 * @example a78300cabca36d8285017ea6
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        event: components["schemas"]["Event"];
                    };
                };
            };
        };
    };
    deleteV1EventsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The `_id` of the event.
                 * @example 698d7dd1aa16de5fe543cd12
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & Record<string, unknown>;
                };
            };
        };
    };
    putV1EventsByIdVerification: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The `_id` of the event.
                 * @example 7684f17012f852d58c41b4f8
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description 1: it happened; -1: it did not; 0: unknown. Names are accepted too. */
                    verification: 1 | 0 | -1 | "ACCEPT" | "UNVERIFY" | "REJECT";
                    /** @description `_id` of the place where the user really is. */
                    verifiedPlaceId?: string;
                };
                "application/x-www-form-urlencoded": {
                    /** @description 1: it happened; -1: it did not; 0: unknown. Names are accepted too. */
                    verification: 1 | 0 | -1 | "ACCEPT" | "UNVERIFY" | "REJECT";
                    /** @description `_id` of the place where the user really is. */
                    verifiedPlaceId?: string;
                };
            };
        };
        responses: {
            /** @description Stored; `event` is present for a secret key only. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        event?: components["schemas"]["Event"];
                    };
                };
            };
        };
    };
    getV1Geofences: {
        parameters: {
            query?: {
                /** @example store */
                tag?: string;
                externalId?: string;
                /** @description `metadata[key]=value`: matches the value as a string, and also as a boolean or number. */
                metadata?: {
                    [key: string]: string;
                };
                /** @description A text to look for in the description, tag and externalId. Upper and lower case are equal. */
                text?: string;
                /** @description Only records whose `createdAt` (when it was created, by the server’s clock) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdBefore?: string | number;
                /** @description Only records whose `createdAt` (when it was created, by the server’s clock) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdAfter?: string | number;
                /** @description Only records whose `updatedAt` (when its definition was last written, by the server’s clock) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                updatedBefore?: string | number;
                /** @description Only records whose `updatedAt` (when its definition was last written, by the server’s clock) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                updatedAfter?: string | number;
                /**
                 * @description Maximum number of records in the response.
                 * @example 2
                 */
                limit?: number;
                /** @description The `_id` of a record: the response has the records after it in the order of the list. The record need not match the filters. For the next page, send the `_id` of the last record that you have. */
                before?: string;
                /** @description Texts are sorted by their letters, and numbers in them by their value. */
                sortBy?: "createdAt" | "updatedAt" | "description" | "tag" | "externalId";
                /** @description Absent: `desc` for dates, `asc` for texts. */
                order?: "asc" | "desc";
                /** @description Whether the answer should contain `meta.total`. */
                includeTotal?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /** @description Whether more records match than `limit`. */
                            hasMore: boolean;
                            /** @description How many records match the filters on all pages; only with `includeTotal`. */
                            total?: number;
                        };
                    } & {
                        geofences: components["schemas"]["Geofence"][];
                    };
                };
            };
        };
    };
    postV1Geofences: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewGeofence"];
                "application/x-www-form-urlencoded": components["schemas"]["NewGeofence"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        geofence: components["schemas"]["Geofence"];
                    };
                };
            };
        };
    };
    deleteV1Geofences: {
        parameters: {
            query: {
                /** @example store */
                tag?: string;
                externalId?: string;
                /** @description `metadata[key]=value`: matches the value as a string, and also as a boolean or number. */
                metadata?: {
                    [key: string]: string;
                };
                /**
                 * @description A text to look for in the description, tag and externalId. Upper and lower case are equal.
                 * @example wedding
                 */
                text?: string;
                /** @description Only records whose `createdAt` (when it was created, by the server’s clock) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdBefore?: string | number;
                /** @description Only records whose `createdAt` (when it was created, by the server’s clock) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdAfter?: string | number;
                /** @description Only records whose `updatedAt` (when its definition was last written, by the server’s clock) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                updatedBefore?: string | number;
                /** @description Only records whose `updatedAt` (when its definition was last written, by the server’s clock) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                updatedAfter?: string | number;
                /** @description Must be true if there is no filter. */
                all?: boolean;
                /**
                 * @description How many records match, as `meta.total` of the list says with `includeTotal=true`. If another number matches, the answer is 409 and nothing changes.
                 * @example 1
                 */
                expectedCount: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        /** @description How many records were changed or deleted. */
                        count: number;
                    };
                };
            };
        };
    };
    patchV1Geofences: {
        parameters: {
            query: {
                /** @example store */
                tag?: string;
                externalId?: string;
                /** @description `metadata[key]=value`: matches the value as a string, and also as a boolean or number. */
                metadata?: {
                    [key: string]: string;
                };
                /**
                 * @description A text to look for in the description, tag and externalId. Upper and lower case are equal.
                 * @example wedding
                 */
                text?: string;
                /** @description Only records whose `createdAt` (when it was created, by the server’s clock) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdBefore?: string | number;
                /** @description Only records whose `createdAt` (when it was created, by the server’s clock) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdAfter?: string | number;
                /** @description Only records whose `updatedAt` (when its definition was last written, by the server’s clock) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                updatedBefore?: string | number;
                /** @description Only records whose `updatedAt` (when its definition was last written, by the server’s clock) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                updatedAfter?: string | number;
                /** @description Must be true if there is no filter. */
                all?: boolean;
                /**
                 * @description How many records match, as `meta.total` of the list says with `includeTotal=true`. If another number matches, the answer is 409 and nothing changes.
                 * @example 1
                 */
                expectedCount: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GeofenceChanges"];
                "application/x-www-form-urlencoded": components["schemas"]["GeofenceChanges"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        /** @description How many records were changed or deleted. */
                        count: number;
                    };
                };
            };
        };
    };
    getV1GeofencesByTagByExternalId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example store */
                tag: string;
                /** @example alexanderplatz */
                externalId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        geofence: components["schemas"]["Geofence"];
                    };
                };
            };
        };
    };
    putV1GeofencesByTagByExternalId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example store */
                tag: string;
                /** @example alexanderplatz */
                externalId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GeofenceDefinition"];
                "application/x-www-form-urlencoded": components["schemas"]["GeofenceDefinition"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        geofence: components["schemas"]["Geofence"];
                    };
                };
            };
        };
    };
    deleteV1GeofencesByTagByExternalId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example bar */
                tag: string;
                /** @example oderberger */
                externalId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & Record<string, unknown>;
                };
            };
        };
    };
    getV1GeofencesById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example b09b50f3c46c489f562896fb */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        geofence: components["schemas"]["Geofence"];
                    };
                };
            };
        };
    };
    putV1GeofencesById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example b09b50f3c46c489f562896fb */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GeofenceDefinition"];
                "application/x-www-form-urlencoded": components["schemas"]["GeofenceDefinition"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        geofence: components["schemas"]["Geofence"];
                    };
                };
            };
        };
    };
    deleteV1GeofencesById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example b09b50f3c46c489f562896fb */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & Record<string, unknown>;
                };
            };
        };
    };
    getV1SearchGeofences: {
        parameters: {
            query: {
                /**
                 * @description `latitude,longitude` in degrees.
                 * @example 52.5200,13.4050
                 */
                near: string;
                /**
                 * @description Maximum number of records in the response.
                 * @example 2
                 */
                limit?: number;
                /** @description Metres. If it is absent, the distance has no limit. */
                radius?: number;
                /** @description Comma-separated; records with any of these tags. */
                tags?: string;
                /** @description `metadata[key]=value`: matches the value as a string, and also as a boolean or number. */
                metadata?: {
                    [key: string]: string;
                };
                /**
                 * @description Must be false for more than 100 results.
                 * @example false
                 */
                includeGeometry?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        geofences: components["schemas"]["Geofence"][];
                    };
                };
            };
        };
    };
    getV1GeofencesTilesByZByXByYMvt: {
        parameters: {
            query?: {
                /** @description Only geofences with this tag. */
                tag?: string;
            };
            header?: never;
            path: {
                /** @description Zoom. */
                z: string;
                /** @description Column from the west, from 0 to 2^z - 1. */
                x: string;
                /** @description Row from the north, from 0 to 2^z - 1. */
                y: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/vnd.mapbox-vector-tile": string;
                };
            };
        };
    };
    getV1UsersDensity: {
        parameters: {
            query: {
                /**
                 * @description `west,south,east,north` in degrees; if west is greater than east, it crosses the antimeridian.
                 * @example 13,52,14,53
                 */
                box: string;
                /**
                 * @description The zoom of the cells.
                 * @example 12
                 */
                zoom: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        cells: {
                            x: number;
                            y: number;
                            count: number;
                        }[];
                    };
                };
            };
        };
    };
    getV1Beacons: {
        parameters: {
            query?: {
                /** @example shelf */
                tag?: string;
                externalId?: string;
                /** @description `metadata[key]=value`: matches the value as a string, and also as a boolean or number. */
                metadata?: {
                    [key: string]: string;
                };
                /** @description A text to look for in the description, tag and externalId. Upper and lower case are equal. */
                text?: string;
                /** @description Only records whose `createdAt` (when it was created, by the server’s clock) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdBefore?: string | number;
                /** @description Only records whose `createdAt` (when it was created, by the server’s clock) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdAfter?: string | number;
                /** @description Only records whose `updatedAt` (when its definition was last written, by the server’s clock) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                updatedBefore?: string | number;
                /** @description Only records whose `updatedAt` (when its definition was last written, by the server’s clock) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                updatedAfter?: string | number;
                /** @description Maximum number of records in the response. */
                limit?: number;
                /** @description The `_id` of a record: the response has the records after it in the order of the list. The record need not match the filters. For the next page, send the `_id` of the last record that you have. */
                before?: string;
                /** @description Texts are sorted by their letters, and numbers in them by their value. */
                sortBy?: "createdAt" | "updatedAt" | "description" | "tag" | "externalId";
                /** @description Absent: `desc` for dates, `asc` for texts. */
                order?: "asc" | "desc";
                /** @description Whether the answer should contain `meta.total`. */
                includeTotal?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /** @description Whether more records match than `limit`. */
                            hasMore: boolean;
                            /** @description How many records match the filters on all pages; only with `includeTotal`. */
                            total?: number;
                        };
                    } & {
                        beacons: components["schemas"]["Beacon"][];
                    };
                };
            };
        };
    };
    postV1Beacons: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BeaconDefinition"];
                "application/x-www-form-urlencoded": components["schemas"]["BeaconDefinition"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        beacon: components["schemas"]["Beacon"];
                    };
                };
            };
        };
    };
    deleteV1Beacons: {
        parameters: {
            query: {
                /** @example till */
                tag?: string;
                externalId?: string;
                /** @description `metadata[key]=value`: matches the value as a string, and also as a boolean or number. */
                metadata?: {
                    [key: string]: string;
                };
                /** @description A text to look for in the description, tag and externalId. Upper and lower case are equal. */
                text?: string;
                /** @description Only records whose `createdAt` (when it was created, by the server’s clock) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdBefore?: string | number;
                /** @description Only records whose `createdAt` (when it was created, by the server’s clock) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdAfter?: string | number;
                /** @description Only records whose `updatedAt` (when its definition was last written, by the server’s clock) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                updatedBefore?: string | number;
                /** @description Only records whose `updatedAt` (when its definition was last written, by the server’s clock) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                updatedAfter?: string | number;
                /** @description Must be true if there is no filter. */
                all?: boolean;
                /**
                 * @description How many records match, as `meta.total` of the list says with `includeTotal=true`. If another number matches, the answer is 409 and nothing changes.
                 * @example 1
                 */
                expectedCount: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        /** @description How many records were changed or deleted. */
                        count: number;
                    };
                };
            };
        };
    };
    patchV1Beacons: {
        parameters: {
            query: {
                /** @example till */
                tag?: string;
                externalId?: string;
                /** @description `metadata[key]=value`: matches the value as a string, and also as a boolean or number. */
                metadata?: {
                    [key: string]: string;
                };
                /** @description A text to look for in the description, tag and externalId. Upper and lower case are equal. */
                text?: string;
                /** @description Only records whose `createdAt` (when it was created, by the server’s clock) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdBefore?: string | number;
                /** @description Only records whose `createdAt` (when it was created, by the server’s clock) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdAfter?: string | number;
                /** @description Only records whose `updatedAt` (when its definition was last written, by the server’s clock) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                updatedBefore?: string | number;
                /** @description Only records whose `updatedAt` (when its definition was last written, by the server’s clock) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                updatedAfter?: string | number;
                /** @description Must be true if there is no filter. */
                all?: boolean;
                /**
                 * @description How many records match, as `meta.total` of the list says with `includeTotal=true`. If another number matches, the answer is 409 and nothing changes.
                 * @example 1
                 */
                expectedCount: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BeaconChanges"];
                "application/x-www-form-urlencoded": components["schemas"]["BeaconChanges"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        /** @description How many records were changed or deleted. */
                        count: number;
                    };
                };
            };
        };
    };
    getV1BeaconsByTagByExternalId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example shelf */
                tag: string;
                /** @example bakery */
                externalId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        beacon: components["schemas"]["Beacon"];
                    };
                };
            };
        };
    };
    putV1BeaconsByTagByExternalId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example shelf */
                tag: string;
                /** @example bakery */
                externalId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BeaconDefinition"];
                "application/x-www-form-urlencoded": components["schemas"]["BeaconDefinition"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        beacon: components["schemas"]["Beacon"];
                    };
                };
            };
        };
    };
    deleteV1BeaconsByTagByExternalId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example shelf */
                tag: string;
                /** @example bakery */
                externalId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & Record<string, unknown>;
                };
            };
        };
    };
    getV1BeaconsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 19c79ca7b1d40237c62b300c */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        beacon: components["schemas"]["Beacon"];
                    };
                };
            };
        };
    };
    putV1BeaconsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 19c79ca7b1d40237c62b300c */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BeaconDefinition"];
                "application/x-www-form-urlencoded": components["schemas"]["BeaconDefinition"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        beacon: components["schemas"]["Beacon"];
                    };
                };
            };
        };
    };
    deleteV1BeaconsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 19c79ca7b1d40237c62b300c */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & Record<string, unknown>;
                };
            };
        };
    };
    getV1SearchBeacons: {
        parameters: {
            query: {
                /**
                 * @description `latitude,longitude` in degrees.
                 * @example 52.5220,13.4130
                 */
                near: string;
                /**
                 * @description Metres.
                 * @example 1000
                 */
                radius?: number;
                /**
                 * @description Maximum number of records in the response.
                 * @example 10
                 */
                limit?: number;
                /** @description Comma-separated; records with any of these tags. */
                tags?: string;
                /** @description `metadata[key]=value`: matches the value as a string, and also as a boolean or number. */
                metadata?: {
                    [key: string]: string;
                };
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            settings: {
                                beacons: {
                                    /** @description iBeacon UUIDs to range wherever the device is. */
                                    uuids: string[];
                                    /** @description Eddystone UIDs to range wherever the device is. */
                                    uids: string[];
                                };
                            };
                        };
                    } & {
                        beacons: components["schemas"]["Beacon"][];
                    };
                };
            };
        };
    };
    getV1ImportsGeofences: {
        parameters: {
            query?: {
                /**
                 * @description Maximum number of records in the response.
                 * @example 10
                 */
                limit?: number;
                /** @description The `_id` of a record: the response has the records after it in the order of the list. The record need not match the filters. For the next page, send the `_id` of the last record that you have. */
                before?: string;
                /** @description Only records whose `createdAt` (when it began, by the server’s clock) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdBefore?: string | number;
                /** @description Only records whose `createdAt` (when it began, by the server’s clock) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdAfter?: string | number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /** @description Whether more records match than `limit`. */
                            hasMore: boolean;
                        };
                    } & {
                        imports: components["schemas"]["Import"][];
                    };
                };
            };
        };
    };
    postV1ImportsGeofences: {
        parameters: {
            query?: {
                /**
                 * @description The name of the file, for the history.
                 * @example stores.csv
                 */
                fileName?: string;
                /** @description Only checks the file: nothing is written, not even to the history. A pair that the file repeats counts as created each time. */
                dryRun?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description CSV in UTF-8, separated by commas. Columns: description, type, tag, externalId, coordinates, address, radius, mode, enabled, metadata, operatingHours, stopDetection, disableAfter, deleteAfter, userId, userIds, ip, dwellThreshold, placeId, tripApproachingThreshold; metadata and operatingHours as JSON, or in a column for each key: metadata.{key}, operatingHours.{day}. At most 256 MiB. */
        requestBody: {
            content: {
                "text/csv": string;
                "application/geo+json": string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        import: components["schemas"]["Import"];
                    };
                };
            };
        };
    };
    getV1ImportsGeofencesById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 444ea32551988dfe69897e93 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        import: components["schemas"]["Import"];
                    };
                };
            };
        };
    };
    postV1ImportsGeofencesByIdCancel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 50d5210586860f36aab66f28 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        import: components["schemas"]["Import"];
                    };
                };
            };
        };
    };
    getV1ImportsGeofencesByIdRefused: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
        };
    };
    getV1ImportsBeacons: {
        parameters: {
            query?: {
                /**
                 * @description Maximum number of records in the response.
                 * @example 10
                 */
                limit?: number;
                /** @description The `_id` of a record: the response has the records after it in the order of the list. The record need not match the filters. For the next page, send the `_id` of the last record that you have. */
                before?: string;
                /** @description Only records whose `createdAt` (when it began, by the server’s clock) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdBefore?: string | number;
                /** @description Only records whose `createdAt` (when it began, by the server’s clock) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdAfter?: string | number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /** @description Whether more records match than `limit`. */
                            hasMore: boolean;
                        };
                    } & {
                        imports: components["schemas"]["Import"][];
                    };
                };
            };
        };
    };
    postV1ImportsBeacons: {
        parameters: {
            query?: {
                /**
                 * @description The name of the file, for the history.
                 * @example beacons.csv
                 */
                fileName?: string;
                /** @description Only checks the file: nothing is written, not even to the history. A pair that the file repeats counts as created each time. */
                dryRun?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description CSV in UTF-8, separated by commas. Columns: description, tag, externalId, type, uuid, major, minor, uid, instance, coordinates, enabled, metadata; metadata as JSON, or in a column for each key: metadata.{key}. At most 256 MiB. */
        requestBody: {
            content: {
                "text/csv": string;
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        import: components["schemas"]["Import"];
                    };
                };
            };
        };
    };
    getV1ImportsBeaconsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 86b7cece02f1bf2563549d57 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        import: components["schemas"]["Import"];
                    };
                };
            };
        };
    };
    postV1ImportsBeaconsByIdCancel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example b59d0bfdc1322602672520b3 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        import: components["schemas"]["Import"];
                    };
                };
            };
        };
    };
    getV1ImportsBeaconsByIdRefused: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
        };
    };
    getV1ExportsGeofences: {
        parameters: {
            query?: {
                format?: "csv" | "geojson";
                /**
                 * @description Only records with this tag.
                 * @example bar
                 */
                tag?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                    "application/geo+json": components["schemas"]["GeofenceCollection"];
                };
            };
        };
    };
    getV1ExportsBeacons: {
        parameters: {
            query?: {
                format?: "csv" | "geojson";
                /**
                 * @description Only records with this tag.
                 * @example till
                 */
                tag?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                    "application/geo+json": components["schemas"]["BeaconCollection"];
                };
            };
        };
    };
    getV1Settings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        settings: components["schemas"]["Settings"];
                        /** @description Your own ids of chains, by slug: `{"burger-king": "17"}`. Responses show them as `externalId`, and searches accept them in place of slugs. */
                        chainMappings: {
                            [key: string]: string;
                        };
                        /** @description Custom data of chains, by slug: 1 to 16 strings, booleans and numbers for each. */
                        chainMetadata: {
                            [key: string]: {
                                [key: string]: string | number | boolean;
                            };
                        };
                        /** @description Slugs of the chains and categories of which a place must have one to be detected as visited. Empty: every place. */
                        placeFilters: {
                            chain: string[];
                            category: string[];
                        };
                    };
                };
            };
        };
    };
    patchV1Settings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["SettingsChange"];
                "application/x-www-form-urlencoded": components["schemas"]["SettingsChange"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        settings: components["schemas"]["Settings"];
                        /** @description Your own ids of chains, by slug: `{"burger-king": "17"}`. Responses show them as `externalId`, and searches accept them in place of slugs. */
                        chainMappings: {
                            [key: string]: string;
                        };
                        /** @description Custom data of chains, by slug: 1 to 16 strings, booleans and numbers for each. */
                        chainMetadata: {
                            [key: string]: {
                                [key: string]: string | number | boolean;
                            };
                        };
                        /** @description Slugs of the chains and categories of which a place must have one to be detected as visited. Empty: every place. */
                        placeFilters: {
                            chain: string[];
                            category: string[];
                        };
                    };
                };
            };
        };
    };
    getV1Keys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        keys: {
                            /** @enum {string} */
                            kind: "publishable" | "secret";
                            live: boolean;
                            lastFour: string;
                            /** Format: date-time */
                            createdAt: string;
                            /**
                             * Format: date-time
                             * @description When the key becomes invalid; only for a key that was replaced.
                             */
                            validUntil?: string;
                            /** @description The whole key: of a publishable one, unless it was made by a version that did not store it; of a secret one only in the response to its rotation. */
                            key?: string;
                        }[];
                    };
                };
            };
        };
    };
    postV1KeysByKindRotate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example secret */
                kind: "publishable" | "secret";
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description When the old key becomes invalid: at most 90 days from now. If it is absent, at once. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
                     * @example 2026-11-20T04:21:00.123Z
                     */
                    oldKeyValidUntil?: string | number;
                };
                "application/x-www-form-urlencoded": {
                    /**
                     * @description When the old key becomes invalid: at most 90 days from now. If it is absent, at once. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
                     * @example 2026-11-20T04:21:00.123Z
                     */
                    oldKeyValidUntil?: string | number;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        key: {
                            /** @enum {string} */
                            kind: "publishable" | "secret";
                            live: boolean;
                            lastFour: string;
                            /** Format: date-time */
                            createdAt: string;
                            /**
                             * Format: date-time
                             * @description When the key becomes invalid; only for a key that was replaced.
                             */
                            validUntil?: string;
                            /** @description The whole key: of a publishable one, unless it was made by a version that did not store it; of a secret one only in the response to its rotation. */
                            key?: string;
                        };
                        oldKey?: {
                            /** @enum {string} */
                            kind: "publishable" | "secret";
                            live: boolean;
                            lastFour: string;
                            /** Format: date-time */
                            createdAt: string;
                            /**
                             * Format: date-time
                             * @description When the key becomes invalid; only for a key that was replaced.
                             */
                            validUntil?: string;
                            /** @description The whole key: of a publishable one, unless it was made by a version that did not store it; of a secret one only in the response to its rotation. */
                            key?: string;
                        };
                    };
                };
            };
        };
    };
    getV1SignIn: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        /** @description Whether there are accounts. */
                        password: boolean;
                        /** @description Whether people can sign in with a secret key. */
                        key: boolean;
                    };
                };
            };
        };
    };
    getV1Sessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        sessions: components["schemas"]["Session"][];
                    };
                };
            };
        };
    };
    postV1Sessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description In upper or lower case; it is stored in lower case. */
                    email?: string;
                    password?: string;
                    /** @description A secret key. */
                    key?: string;
                } & (unknown | unknown);
                "application/x-www-form-urlencoded": {
                    /** @description In upper or lower case; it is stored in lower case. */
                    email?: string;
                    password?: string;
                    /** @description A secret key. */
                    key?: string;
                } & (unknown | unknown);
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & components["schemas"]["SignedIn"];
                };
            };
        };
    };
    getV1SessionsCurrent: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & components["schemas"]["SignedIn"];
                };
            };
        };
    };
    deleteV1SessionsCurrent: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & Record<string, unknown>;
                };
            };
        };
    };
    deleteV1SessionsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example c3f51483cf11be8018f8bc35 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & Record<string, unknown>;
                };
            };
        };
    };
    postV1SessionsCurrentTicket: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        ticket: string;
                        /**
                         * Format: date-time
                         * @example 2026-11-20T04:21:00.123Z
                         */
                        expiresAt: string;
                    };
                };
            };
        };
    };
    putV1AccountPassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    current: string;
                    /** @description 12 to 256 characters, none of the commonest passwords, and not the e-mail address. */
                    password: string;
                };
                "application/x-www-form-urlencoded": {
                    current: string;
                    /** @description 12 to 256 characters, none of the commonest passwords, and not the e-mail address. */
                    password: string;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & Record<string, unknown>;
                };
            };
        };
    };
    postV1InvitationsByToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 5u9hX7cP2kq0Zr3mB8wLtYvN1dGf6sJaEoQi4RxUyWc */
                token: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description 12 to 256 characters, none of the commonest passwords, and not the e-mail address. */
                    password: string;
                    name?: string;
                };
                "application/x-www-form-urlencoded": {
                    /** @description 12 to 256 characters, none of the commonest passwords, and not the e-mail address. */
                    password: string;
                    name?: string;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & components["schemas"]["SignedIn"];
                };
            };
        };
    };
    getV1Accounts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        accounts: components["schemas"]["Account"][];
                    };
                };
            };
        };
    };
    postV1Accounts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description In upper or lower case; it is stored in lower case. */
                    email: string;
                    name: string;
                    /**
                     * @description `admin` includes `write`, and `write` includes `read`.
                     * @enum {unknown}
                     */
                    role: "read" | "write" | "admin";
                };
                "application/x-www-form-urlencoded": {
                    /** @description In upper or lower case; it is stored in lower case. */
                    email: string;
                    name: string;
                    /**
                     * @description `admin` includes `write`, and `write` includes `read`.
                     * @enum {unknown}
                     */
                    role: "read" | "write" | "admin";
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        account: components["schemas"]["Account"];
                        invitation: {
                            /** @description The link, for you to hand over. Only this response contains it. */
                            url: string;
                            /**
                             * Format: date-time
                             * @example 2026-11-20T04:21:00.123Z
                             */
                            expiresAt: string;
                        };
                    };
                };
            };
        };
    };
    deleteV1AccountsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 485c4f2f6ed6462730a8fa50 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & Record<string, unknown>;
                };
            };
        };
    };
    patchV1AccountsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 485c4f2f6ed6462730a8fa50 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    name?: string;
                    /**
                     * @description `admin` includes `write`, and `write` includes `read`.
                     * @enum {unknown}
                     */
                    role?: "read" | "write" | "admin";
                    disabled?: boolean;
                };
                "application/x-www-form-urlencoded": {
                    name?: string;
                    /**
                     * @description `admin` includes `write`, and `write` includes `read`.
                     * @enum {unknown}
                     */
                    role?: "read" | "write" | "admin";
                    disabled?: boolean;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        account: components["schemas"]["Account"];
                    };
                };
            };
        };
    };
    postV1AccountsByIdInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 485c4f2f6ed6462730a8fa50 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        account: components["schemas"]["Account"];
                        invitation: {
                            /** @description The link, for you to hand over. Only this response contains it. */
                            url: string;
                            /**
                             * Format: date-time
                             * @example 2026-11-20T04:21:00.123Z
                             */
                            expiresAt: string;
                        };
                    };
                };
            };
        };
    };
    getV1Audit: {
        parameters: {
            query?: {
                /** @description The `id` of an actor. */
                actor?: string;
                action?: string;
                target?: string;
                /** @description The `_id` of an entry: the response has the entries before it. For the next page, send that of the last entry that you have. */
                before?: string;
                /**
                 * @description Maximum number of records in the response.
                 * @example 1
                 */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /** @description Whether more records match than `limit`. */
                            hasMore: boolean;
                        };
                    } & {
                        audit: {
                            _id: string;
                            /** Format: date-time */
                            at: string;
                            actor: {
                                /** @enum {unknown} */
                                kind: "session" | "key" | "command" | "system";
                                id: string;
                                /** @description An e-mail address, or the last four characters of a key. */
                                label: string;
                            };
                            ip?: string;
                            requestId?: string;
                            /** @description `geofence.created`, `geofence.changed`, `geofence.deleted`, and the same for other records; `geofence.changedMany` for several long records that were changed at once, for example by an import of large polygons, without values; or the method and path of a call that changed no such record. */
                            action: string;
                            /** @description What was changed. For a record with a pair, this is the tag and externalId with a slash between them. */
                            target: string;
                            live?: boolean;
                            before?: {
                                [key: string]: unknown;
                            };
                            after?: {
                                [key: string]: unknown;
                            };
                            /** @description The members that were too long to be kept, such as `before.userIds`. If this names a member of `before`, the record cannot be restored from this entry. */
                            leftOut?: string[];
                        }[];
                    };
                };
            };
        };
    };
    getV1GeofenceSync: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        sync: components["schemas"]["GeofenceSync"];
                        lastRun?: components["schemas"]["GeofenceSyncRun"];
                    };
                };
            };
        };
    };
    putV1GeofenceSync: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GeofenceSyncSettings"];
                "application/x-www-form-urlencoded": components["schemas"]["GeofenceSyncSettings"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        sync: components["schemas"]["GeofenceSync"];
                        run?: components["schemas"]["GeofenceSyncRun"];
                    };
                };
            };
        };
    };
    postV1GeofenceSyncTest: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["GeofenceSyncTest"];
                "application/x-www-form-urlencoded": components["schemas"]["GeofenceSyncTest"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        sources: {
                            name: string;
                            ok: boolean;
                            message: string;
                        }[];
                    };
                };
            };
        };
    };
    getV1GeofenceSyncRuns: {
        parameters: {
            query?: {
                /** @description Maximum number of records in the response. */
                limit?: number;
                /** @description The `_id` of a record: the response has the records after it in the order of the list. The record need not match the filters. For the next page, send the `_id` of the last record that you have. */
                before?: string;
                /** @description Only records whose `createdAt` (when it was asked for, by the server’s clock) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdBefore?: string | number;
                /** @description Only records whose `createdAt` (when it was asked for, by the server’s clock) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdAfter?: string | number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /** @description Whether more records match than `limit`. */
                            hasMore: boolean;
                        };
                    } & {
                        runs: components["schemas"]["GeofenceSyncRun"][];
                    };
                };
            };
        };
    };
    postV1GeofenceSyncRuns: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Default false. If true, the run also reads sources that have not changed, and deletes missing geofences however many there are. */
                    force?: boolean | string;
                    /** @description Default false. If true, the run only counts what it would do, and writes no geofence. */
                    dryRun?: boolean | string;
                };
                "application/x-www-form-urlencoded": {
                    /** @description Default false. If true, the run also reads sources that have not changed, and deletes missing geofences however many there are. */
                    force?: boolean | string;
                    /** @description Default false. If true, the run only counts what it would do, and writes no geofence. */
                    dryRun?: boolean | string;
                };
            };
        };
        responses: {
            /** @description Success. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        run: components["schemas"]["GeofenceSyncRun"];
                    };
                };
            };
        };
    };
    getV1GeofenceSyncRunsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 4b3a50c43618dba8d7bccc65 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        run: components["schemas"]["GeofenceSyncRun"];
                    };
                };
            };
        };
    };
    postV1GeofenceSyncRunsByIdCancel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 4b3a50c43618dba8d7bccc65 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        run: components["schemas"]["GeofenceSyncRun"];
                    };
                };
            };
        };
    };
    postV1NotificationsTest: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The address that gets the e-mail. */
                    email: string;
                };
                "application/x-www-form-urlencoded": {
                    /** @description The address that gets the e-mail. */
                    email: string;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        notification: {
                            /**
                             * @description `notConfigured`: the operator has set no mail server.
                             * @enum {unknown}
                             */
                            status: "sent" | "failed" | "notConfigured";
                            /** @description Why the e-mail was not sent. */
                            error?: string;
                        };
                    };
                };
            };
        };
    };
    getV1RouteDistance: {
        parameters: {
            query: {
                /**
                 * @description `latitude,longitude` in degrees.
                 * @example -34.9059,-56.1913
                 */
                origin: string;
                /**
                 * @description `latitude,longitude` in degrees.
                 * @example -34.9121,-56.1637
                 */
                destination: string;
                /**
                 * @description How to travel: one or more of car, truck, foot, bike, motorbike, separated by commas.
                 * @example car,foot
                 */
                modes: string;
                /**
                 * @description `metric`: distances in metres, and their texts in kilometres. `imperial`: feet and miles.
                 * @example metric
                 */
                units?: "metric" | "imperial";
                /** @description What to avoid if another route exists: one or more of tolls, highways, ferries, borderCrossings, separated by commas. */
                avoid?: string;
                /** @description The route as GeoJSON, or as a polyline with five or six digits; `polyline` has five. */
                geometry?: "linestring" | "polyline5" | "polyline6" | "polyline";
                /** @description Number of points, evenly spaced along the route, to return instead of the original ones; as `linestring` if no format is given. */
                geometryPoints?: number;
                /** @description The time at which the journey starts. Roads that are closed at that time of the week are not used. Without it, closing times are ignored. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                departureTime?: string | number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /**
                             * @description The attribution to show with the result.
                             * @example © OpenStreetMap contributors
                             */
                            attribution?: string;
                        };
                    } & {
                        routes: {
                            geodesic: {
                                /** @description The length of the route. */
                                distance: {
                                    /** @description Metres, or feet. */
                                    value: number;
                                    /** @example 5.6 mi */
                                    text: string;
                                };
                            };
                            car?: {
                                distance: {
                                    /** @description Metres, or feet. */
                                    value: number;
                                    /** @example 5.6 mi */
                                    text: string;
                                } | null;
                                duration: {
                                    /** @description Minutes. */
                                    value: number;
                                    /**
                                     * @example 20 mins
                                     * @example 1 hr 38 min
                                     */
                                    text: string;
                                } | null;
                                /** @description The route in the format that `geometry` asks for. */
                                geometry?: {
                                    /** @enum {string} */
                                    type: "polyline5" | "polyline6";
                                    /** @description An encoded polyline in the format of Google, with five or six digits, as `type` says. */
                                    polyline: string;
                                } | {
                                    /** @constant */
                                    type: "LineString";
                                    coordinates: number[][];
                                };
                                /** @description Why distance and duration are null: there is a route for other modes, but not for this one. */
                                reason?: string;
                            };
                            truck?: {
                                distance: {
                                    /** @description Metres, or feet. */
                                    value: number;
                                    /** @example 5.6 mi */
                                    text: string;
                                } | null;
                                duration: {
                                    /** @description Minutes. */
                                    value: number;
                                    /**
                                     * @example 20 mins
                                     * @example 1 hr 38 min
                                     */
                                    text: string;
                                } | null;
                                /** @description The route in the format that `geometry` asks for. */
                                geometry?: {
                                    /** @enum {string} */
                                    type: "polyline5" | "polyline6";
                                    /** @description An encoded polyline in the format of Google, with five or six digits, as `type` says. */
                                    polyline: string;
                                } | {
                                    /** @constant */
                                    type: "LineString";
                                    coordinates: number[][];
                                };
                                /** @description Why distance and duration are null: there is a route for other modes, but not for this one. */
                                reason?: string;
                            };
                            foot?: {
                                distance: {
                                    /** @description Metres, or feet. */
                                    value: number;
                                    /** @example 5.6 mi */
                                    text: string;
                                } | null;
                                duration: {
                                    /** @description Minutes. */
                                    value: number;
                                    /**
                                     * @example 20 mins
                                     * @example 1 hr 38 min
                                     */
                                    text: string;
                                } | null;
                                /** @description The route in the format that `geometry` asks for. */
                                geometry?: {
                                    /** @enum {string} */
                                    type: "polyline5" | "polyline6";
                                    /** @description An encoded polyline in the format of Google, with five or six digits, as `type` says. */
                                    polyline: string;
                                } | {
                                    /** @constant */
                                    type: "LineString";
                                    coordinates: number[][];
                                };
                                /** @description Why distance and duration are null: there is a route for other modes, but not for this one. */
                                reason?: string;
                            };
                            bike?: {
                                distance: {
                                    /** @description Metres, or feet. */
                                    value: number;
                                    /** @example 5.6 mi */
                                    text: string;
                                } | null;
                                duration: {
                                    /** @description Minutes. */
                                    value: number;
                                    /**
                                     * @example 20 mins
                                     * @example 1 hr 38 min
                                     */
                                    text: string;
                                } | null;
                                /** @description The route in the format that `geometry` asks for. */
                                geometry?: {
                                    /** @enum {string} */
                                    type: "polyline5" | "polyline6";
                                    /** @description An encoded polyline in the format of Google, with five or six digits, as `type` says. */
                                    polyline: string;
                                } | {
                                    /** @constant */
                                    type: "LineString";
                                    coordinates: number[][];
                                };
                                /** @description Why distance and duration are null: there is a route for other modes, but not for this one. */
                                reason?: string;
                            };
                            motorbike?: {
                                distance: {
                                    /** @description Metres, or feet. */
                                    value: number;
                                    /** @example 5.6 mi */
                                    text: string;
                                } | null;
                                duration: {
                                    /** @description Minutes. */
                                    value: number;
                                    /**
                                     * @example 20 mins
                                     * @example 1 hr 38 min
                                     */
                                    text: string;
                                } | null;
                                /** @description The route in the format that `geometry` asks for. */
                                geometry?: {
                                    /** @enum {string} */
                                    type: "polyline5" | "polyline6";
                                    /** @description An encoded polyline in the format of Google, with five or six digits, as `type` says. */
                                    polyline: string;
                                } | {
                                    /** @constant */
                                    type: "LineString";
                                    coordinates: number[][];
                                };
                                /** @description Why distance and duration are null: there is a route for other modes, but not for this one. */
                                reason?: string;
                            };
                        };
                    };
                };
            };
        };
    };
    getV1RouteMatrix: {
        parameters: {
            query: {
                /**
                 * @description `latitude,longitude` in degrees, separated by `|`. Rows of the matrix.
                 * @example -34.9059,-56.1913|-34.8945,-56.1770
                 */
                origins: string;
                /**
                 * @description `latitude,longitude` in degrees, separated by `|`. Columns of the matrix.
                 * @example -34.9121,-56.1637|-34.8991,-56.1655
                 */
                destinations: string;
                /**
                 * @description How to travel.
                 * @example bike
                 */
                mode: "car" | "truck" | "foot" | "bike" | "motorbike";
                /**
                 * @description `metric`: distances in metres, and their texts in kilometres. `imperial`: feet and miles.
                 * @example metric
                 */
                units?: "metric" | "imperial";
                /** @description What to avoid if another route exists: one or more of tolls, highways, ferries, borderCrossings, separated by commas. */
                avoid?: string;
                /** @description The time at which the journey starts. Roads that are closed at that time of the week are not used. Without it, closing times are ignored. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                departureTime?: string | number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /**
                             * @description The attribution to show with the result.
                             * @example © OpenStreetMap contributors
                             */
                            attribution?: string;
                        };
                    } & {
                        origins: {
                            latitude: number;
                            longitude: number;
                        }[];
                        destinations: {
                            latitude: number;
                            longitude: number;
                        }[];
                        /** @description One row for each origin, with one cell for each destination. */
                        matrix: {
                            originIndex: number;
                            destinationIndex: number;
                            distance: {
                                /** @description Metres, or feet. */
                                value: number;
                                /** @example 5.6 mi */
                                text: string;
                            } | null;
                            duration: {
                                /** @description Minutes. */
                                value: number;
                                /**
                                 * @example 20 mins
                                 * @example 1 hr 38 min
                                 */
                                text: string;
                            } | null;
                            /** @description Why distance and duration are null. */
                            reason?: string;
                        }[][];
                    };
                };
            };
        };
    };
    postV1RouteMatch: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The points in their order. */
                    path: {
                        /**
                         * @description `latitude,longitude` in degrees.
                         * @example 40.7342,-73.9911
                         */
                        coordinates: string;
                        /**
                         * @description The time of the point; not earlier than that of the previous point. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
                         * @example 2026-11-20T04:21:00.123Z
                         */
                        createdAt?: string | number;
                        /** @description Metres. */
                        accuracy?: number;
                    }[];
                    /**
                     * @description How to travel.
                     * @enum {string}
                     */
                    mode?: "car" | "truck" | "foot" | "bike" | "motorbike";
                    /** @description Attributes of the roads to return: one or more of speedLimit, names, roadClass, separated by commas. Default: none. */
                    roadAttributes?: string;
                    /**
                     * @description `metric`: distances in metres, and their texts in kilometres. `imperial`: feet and miles.
                     * @default imperial
                     * @enum {string}
                     */
                    units?: "metric" | "imperial";
                    /**
                     * @description The route as GeoJSON, or as a polyline with five or six digits; `polyline` has five.
                     * @enum {string}
                     */
                    geometry?: "linestring" | "polyline5" | "polyline6" | "polyline";
                };
                "application/x-www-form-urlencoded": {
                    /** @description The points in their order. */
                    path: {
                        /**
                         * @description `latitude,longitude` in degrees.
                         * @example 40.7342,-73.9911
                         */
                        coordinates: string;
                        /**
                         * @description The time of the point; not earlier than that of the previous point. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
                         * @example 2026-11-20T04:21:00.123Z
                         */
                        createdAt?: string | number;
                        /** @description Metres. */
                        accuracy?: number;
                    }[];
                    /**
                     * @description How to travel.
                     * @enum {string}
                     */
                    mode?: "car" | "truck" | "foot" | "bike" | "motorbike";
                    /** @description Attributes of the roads to return: one or more of speedLimit, names, roadClass, separated by commas. Default: none. */
                    roadAttributes?: string;
                    /**
                     * @description `metric`: distances in metres, and their texts in kilometres. `imperial`: feet and miles.
                     * @default imperial
                     * @enum {string}
                     */
                    units?: "metric" | "imperial";
                    /**
                     * @description The route as GeoJSON, or as a polyline with five or six digits; `polyline` has five.
                     * @enum {string}
                     */
                    geometry?: "linestring" | "polyline5" | "polyline6" | "polyline";
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /**
                             * @description The attribution to show with the result.
                             * @example © OpenStreetMap contributors
                             */
                            attribution?: string;
                        };
                    } & {
                        /** @description The points, moved to the roads on which they lie. */
                        matchedPath: {
                            latitude: number;
                            longitude: number;
                            /** @description The index of the point in `path`. */
                            originalIndex: number;
                        }[];
                        /** @description The stretches of road in their order. */
                        roadAttributes?: {
                            /** @description `motorway`, `trunk`, `primary`, `secondary`, `tertiary`, `residential`, `unclassified` or `service_other`. */
                            roadClass?: string;
                            speedLimit?: {
                                value: number | null;
                                /**
                                 * @example 25 mph
                                 * @example unlimited
                                 */
                                text: string;
                            };
                            names?: string[];
                            startLocation: {
                                latitude: number;
                                longitude: number;
                            };
                            endLocation: {
                                latitude: number;
                                longitude: number;
                            };
                            /** @description The first point of the path that lies on this road, if there is one. */
                            originalIndex?: number;
                        }[];
                        /** @description The route in the format that `geometry` asks for. */
                        geometry: {
                            /** @enum {string} */
                            type: "polyline5" | "polyline6";
                            /** @description An encoded polyline in the format of Google, with five or six digits, as `type` says. */
                            polyline: string;
                        } | {
                            /** @constant */
                            type: "LineString";
                            coordinates: number[][];
                        };
                        /** @description The length of the route. */
                        distance: {
                            /** @description Metres, or feet. */
                            value: number;
                            /** @example 5.6 mi */
                            text: string;
                        };
                    };
                };
            };
        };
    };
    getV1RouteDirections: {
        parameters: {
            query: {
                /**
                 * @description `latitude,longitude` in degrees, separated by `|`. Two to 25, visited in order.
                 * @example -34.9059,-56.1913|-34.9063,-56.1888
                 */
                locations: string;
                /** @description How to travel. */
                mode?: "car" | "truck" | "foot" | "bike" | "motorbike";
                /**
                 * @description `metric`: distances in metres, and their texts in kilometres. `imperial`: feet and miles.
                 * @example metric
                 */
                units?: "metric" | "imperial";
                /** @description What to avoid if another route exists: one or more of tolls, highways, ferries, borderCrossings, separated by commas. */
                avoid?: string;
                /** @description The route as GeoJSON, or as a polyline with five or six digits; `polyline` has five. */
                geometry?: "linestring" | "polyline5" | "polyline6" | "polyline";
                /** @description The time at which the journey starts. Roads that are closed at that time of the week are not used. Without it, closing times are ignored. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                departureTime?: string | number;
                /** @description Direction of travel at the first location, degrees clockwise from north. */
                heading?: number;
                /** @description Whether to return up to 2 other routes after the best one. Only with exactly two locations; together with `departureTime`, only the best route is returned. */
                alternatives?: boolean;
                /** @description Language of all texts. */
                lang?: "de" | "en" | "es" | "fr" | "ja" | "ko" | "pt" | "ru";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /**
                             * @description The attribution to show with the result.
                             * @example © OpenStreetMap contributors
                             */
                            attribution?: string;
                        };
                    } & {
                        /** @description The first route is the best one, by its time and its turns together, so another one may take less time. */
                        routes: {
                            /** @description The duration of the journey. */
                            duration: {
                                /** @description Minutes. */
                                value: number;
                                /**
                                 * @example 20 mins
                                 * @example 1 hr 38 min
                                 */
                                text: string;
                            };
                            /** @description The length of the route. */
                            distance: {
                                /** @description Metres, or feet. */
                                value: number;
                                /** @example 5.6 mi */
                                text: string;
                            };
                            /** @description The route in the format that `geometry` asks for. */
                            geometry: {
                                /** @enum {string} */
                                type: "polyline5" | "polyline6";
                                /** @description An encoded polyline in the format of Google, with five or six digits, as `type` says. */
                                polyline: string;
                            } | {
                                /** @constant */
                                type: "LineString";
                                coordinates: number[][];
                            };
                            /** @description One leg between each location and the next. */
                            legs: {
                                startLocation: {
                                    latitude: number;
                                    longitude: number;
                                };
                                endLocation: {
                                    latitude: number;
                                    longitude: number;
                                };
                                /** @description The duration of the journey. */
                                duration: {
                                    /** @description Minutes. */
                                    value: number;
                                    /**
                                     * @example 20 mins
                                     * @example 1 hr 38 min
                                     */
                                    text: string;
                                };
                                /** @description The length of the route. */
                                distance: {
                                    /** @description Metres, or feet. */
                                    value: number;
                                    /** @example 5.6 mi */
                                    text: string;
                                };
                                /** @description The route in the format that `geometry` asks for. */
                                geometry: {
                                    /** @enum {string} */
                                    type: "polyline5" | "polyline6";
                                    /** @description An encoded polyline in the format of Google, with five or six digits, as `type` says. */
                                    polyline: string;
                                } | {
                                    /** @constant */
                                    type: "LineString";
                                    coordinates: number[][];
                                };
                                steps: {
                                    /** @description The length of the route. */
                                    distance: {
                                        /** @description Metres, or feet. */
                                        value: number;
                                        /** @example 5.6 mi */
                                        text: string;
                                    };
                                    /** @description The duration of the journey. */
                                    duration: {
                                        /** @description Minutes. */
                                        value: number;
                                        /**
                                         * @example 20 mins
                                         * @example 1 hr 38 min
                                         */
                                        text: string;
                                    };
                                    start_location: {
                                        latitude: number;
                                        longitude: number;
                                    };
                                    end_location: {
                                        latitude: number;
                                        longitude: number;
                                    };
                                    /** @description Degrees clockwise from north, before the maneuver. */
                                    bearing_before: number;
                                    /** @description Degrees clockwise from north, after the maneuver. */
                                    bearing_after: number;
                                    /** @example Turn left onto Jamaica Avenue. */
                                    instructions: string;
                                    /** @description Text for a display, in the format of OSRM and Mapbox; lengths in metres. */
                                    banner_instructions: unknown[];
                                    /** @description Text to speak and when to speak it, in the format of OSRM and Mapbox; lengths in metres. */
                                    voice_instructions: unknown[];
                                    /** @description The route in the format that `geometry` asks for. */
                                    geometry: {
                                        /** @enum {string} */
                                        type: "polyline5" | "polyline6";
                                        /** @description An encoded polyline in the format of Google, with five or six digits, as `type` says. */
                                        polyline: string;
                                    } | {
                                        /** @constant */
                                        type: "LineString";
                                        coordinates: number[][];
                                    };
                                    /** @description The mode, or `ferry`. */
                                    mode: string;
                                    /** @description The maneuver at the beginning of the step: `start`, `left`, `slight-left`, `sharp-left`, `uturn`, `continue`, `stay-left`, `stay-straight`, `ramp-left`, `exit-left`, `merge-left`, `roundabout`, `roundabout-exit`, `destination`, `destination-left`; and the same with `right`. */
                                    manuever: string;
                                    /** @description Empty if the road has neither name nor number. */
                                    street_name: string;
                                    /** @description At an exit: its number as on the sign, or else its destination. */
                                    exit_name?: string;
                                }[];
                            }[];
                        }[];
                    };
                };
            };
        };
    };
    getV1RouteOptimize: {
        parameters: {
            query: {
                /**
                 * @description `latitude,longitude` in degrees, separated by `|`. Two to 10: the origin, stops in any order, the destination.
                 * @example -34.9059,-56.1913|-34.8945,-56.1770|-34.9121,-56.1637|-34.8800,-56.1500
                 */
                locations: string;
                /** @description How to travel. */
                mode?: "car" | "truck" | "foot" | "bike" | "motorbike";
                /** @description `metric`: distances in metres, and their texts in kilometres. `imperial`: feet and miles. */
                units?: "metric" | "imperial";
                /** @description The route as GeoJSON, or as a polyline with five or six digits; `polyline` has five. */
                geometry?: "linestring" | "polyline5" | "polyline6" | "polyline";
                /** @description The time at which the journey starts. Roads that are closed at that time of the week are not used. Without it, closing times are ignored. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                departureTime?: string | number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /**
                             * @description The attribution to show with the result.
                             * @example © OpenStreetMap contributors
                             */
                            attribution?: string;
                        };
                    } & {
                        route: {
                            /** @description The length of the route. */
                            distance: {
                                /** @description Metres, or feet. */
                                value: number;
                                /** @example 5.6 mi */
                                text: string;
                            };
                            /** @description The duration of the journey. */
                            duration: {
                                /** @description Minutes. */
                                value: number;
                                /**
                                 * @example 20 mins
                                 * @example 1 hr 38 min
                                 */
                                text: string;
                            };
                            /** @description In the order of the journey. */
                            legs: {
                                startLocation: {
                                    latitude: number;
                                    longitude: number;
                                };
                                endLocation: {
                                    latitude: number;
                                    longitude: number;
                                };
                                /** @description The index in the list of `locations`. */
                                startIndex: number;
                                /** @description The index in the list of `locations`. */
                                endIndex: number;
                                /** @description The length of the route. */
                                distance: {
                                    /** @description Metres, or feet. */
                                    value: number;
                                    /** @example 5.6 mi */
                                    text: string;
                                };
                                /** @description The duration of the journey. */
                                duration: {
                                    /** @description Minutes. */
                                    value: number;
                                    /**
                                     * @example 20 mins
                                     * @example 1 hr 38 min
                                     */
                                    text: string;
                                };
                                /** @description The route in the format that `geometry` asks for. */
                                geometry?: {
                                    /** @enum {string} */
                                    type: "polyline5" | "polyline6";
                                    /** @description An encoded polyline in the format of Google, with five or six digits, as `type` says. */
                                    polyline: string;
                                } | {
                                    /** @constant */
                                    type: "LineString";
                                    coordinates: number[][];
                                };
                            }[];
                        };
                    };
                };
            };
        };
    };
    getV1RouteIsochrone: {
        parameters: {
            query: {
                /**
                 * @description `latitude,longitude` in degrees.
                 * @example -34.9059,-56.1913
                 */
                coordinates: string;
                /**
                 * @description Duration of the journey, in minutes.
                 * @example 2
                 */
                minutes: number;
                /**
                 * @description How to travel.
                 * @example foot
                 */
                mode?: "car" | "truck" | "foot" | "bike" | "motorbike";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /**
                             * @description The attribution to show with the result.
                             * @example © OpenStreetMap contributors
                             */
                            attribution?: string;
                        };
                    } & {
                        isochrone: {
                            minutes: number;
                            mode: string;
                            /** @description A GeoJSON Polygon. */
                            geometry: {
                                /** @constant */
                                type: "Polygon";
                                /** @description A closed ring of [longitude, latitude]. */
                                coordinates: number[][][];
                            };
                        };
                    };
                };
            };
        };
    };
    getV1AddressesValidate: {
        parameters: {
            query: {
                /** @example New York */
                city: string;
                /** @example NY */
                stateCode: string;
                /**
                 * @description With or without the last four digits.
                 * @example 10003-4704
                 */
                postalCode: string;
                /**
                 * @description `US` or `CA`.
                 * @example US
                 */
                countryCode: string;
                number?: string;
                street?: string;
                unit?: string;
                /**
                 * @description The first line of the address: number, street and unit. It is used instead of the separate fields.
                 * @example 841 Broadway Floor 7
                 */
                addressLabel?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /**
                             * @description The attribution to show with the results.
                             * @example © OpenStreetMap contributors, GeoNames
                             */
                            attribution: string;
                        };
                    } & {
                        address: {
                            /** @example 841 BROADWAY FL 7 */
                            addressLabel: string;
                            number?: string;
                            street?: string;
                            /**
                             * @description The unit with its designator, such as `FL`.
                             * @example FL 7
                             */
                            unit?: string;
                            city: string;
                            stateCode: string;
                            postalCode: string;
                            /** @description As it was sent; it is not checked. */
                            plus4?: string;
                            /** @description The name of the county, without `County`. */
                            county?: string;
                            countryCode: string;
                            /** @example 841 BROADWAY FL 7, NEW YORK, NY 10003-4704 US */
                            formattedAddress: string;
                            metadata: {
                                /**
                                 * @description `S` street, `H` high-rise (units), `F` firm, `P` box at a post office, `R` rural route, `G` general delivery.
                                 * @enum {string}
                                 */
                                recordType: "S" | "P" | "R" | "H" | "F" | "G";
                                /**
                                 * @description Absent if it is not known.
                                 * @enum {string}
                                 */
                                propertyType?: "residential" | "commercial";
                            };
                        };
                        result: {
                            /** @enum {string} */
                            verificationStatus: "verified" | "partially verified" | "ambiguous" | "unverified";
                            /** @description In the United States, where the units of the house are known. */
                            analysis?: ("unit:missing" | "unit:invalid")[];
                        };
                    };
                };
            };
        };
    };
    getV1SearchPlaces: {
        parameters: {
            query?: {
                /**
                 * @description `latitude,longitude` in degrees.
                 * @example -34.9061,-56.1934
                 */
                near?: string;
                /** @description Slugs of chains, or your own ids of them (`chainMappings`), separated by commas. */
                chains?: string;
                /**
                 * @description Slugs of categories, separated by commas. One finds its subcategories, too.
                 * @example cafe
                 */
                categories?: string;
                /** @description One or more of airport, major-us-airport, separated by commas. */
                groups?: string;
                /** @description The code of an airport, three letters. The answer is this airport, whatever else is sent. */
                iataCode?: string;
                /** @description `metadata[key]=value`: matches the value as a string, and also as a boolean or number. */
                chainMetadata?: {
                    [key: string]: string;
                };
                /** @description Only results in these countries: two-letter codes, separated by commas. */
                country?: string;
                /** @description Metres. */
                radius?: number;
                /**
                 * @description Maximum number of records in the response.
                 * @example 1
                 */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /**
                             * @description The attribution to show with the results.
                             * @example © OpenStreetMap contributors, GeoNames
                             */
                            attribution: string;
                        };
                    } & {
                        places: components["schemas"]["FoundPlace"][];
                    };
                };
            };
        };
    };
    getV1GeocodeForward: {
        parameters: {
            query: {
                /**
                 * @description The text to look for, 1 to 1000 characters. Punctuation has no meaning.
                 * @example 18 de Julio 1056, Montevideo
                 */
                query: string;
                /** @description The kinds of results: one or more of address, place, intersection, street, neighborhood, postalCode, locality, county, state, country, coarse, fine, separated by commas. `coarse` is postalCode, locality, county, state and country; `fine` is address and place. */
                layers?: string;
                /** @description Only results in these countries: two-letter codes, separated by commas. */
                country?: string;
                /** @description The language of the names of countries, and of other names if the data have them in this language: ar, de, en, es, fr, ja, ko, pt, ru, zh. */
                lang?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /**
                             * @description The attribution to show with the results.
                             * @example © OpenStreetMap contributors, GeoNames
                             */
                            attribution: string;
                        };
                    } & {
                        addresses: {
                            latitude: number;
                            longitude: number;
                            geometry: {
                                /** @constant */
                                type: "Point";
                                /** @description [longitude, latitude] */
                                coordinates: number[];
                            };
                            /**
                             * @description The kind of the result.
                             * @enum {string}
                             */
                            layer: "address" | "place" | "intersection" | "street" | "neighborhood" | "postalCode" | "locality" | "county" | "state" | "country";
                            /** @description Number and street in the order of the country, or the name. */
                            addressLabel?: string;
                            /** @description The name of the place. Such a result has no `addressLabel`. */
                            placeLabel?: string;
                            /** @description The categories of a place. */
                            categories?: string[];
                            /** @description House number. */
                            number?: string;
                            /** @description Apartment, suite or floor. */
                            unit?: string;
                            /** @description For an intersection, both streets. */
                            street?: string;
                            /** @description Part of a city. */
                            neighborhood?: string;
                            /** @description A borough of a large city. */
                            borough?: string;
                            /** @description City, town or village. */
                            city?: string;
                            /** @description Name. */
                            county?: string;
                            /** @description Name. */
                            state?: string;
                            /**
                             * @description The code of the state, if states of the country have one.
                             * @example NY
                             */
                            stateCode?: string;
                            /** @description Also called ZIP code. */
                            postalCode?: string;
                            /** @description The name in the language of `lang`. */
                            country?: string;
                            /**
                             * @description The two-letter code (ISO 3166-1 alpha-2).
                             * @example UY
                             */
                            countryCode?: string;
                            /** @description An emoji. */
                            countryFlag?: string;
                            /** @example Plaza Cagancha 1157, Montevideo, Uruguay */
                            formattedAddress: string;
                            /** @description The time zone at the point, and what its clocks show. */
                            timeZone: {
                                /** @example America/New_York */
                                id: string;
                                /** @example Eastern Daylight Time */
                                name: string;
                                /** @example EDT */
                                code: string;
                                /** @example 2024-04-09T10:12:00-04:00 */
                                currentTime: string;
                                /** @description The offset from UTC in seconds, including summer time. */
                                utcOffset: number;
                                /** @description How many seconds of the offset are summer time. */
                                dstOffset: number;
                            };
                            /** @description Metres; 0 inside. */
                            distance?: number;
                            /**
                             * @description Only for forward geocoding. `exact`: what was asked for. `interpolated`: a house between known ones. `fallback`: the smallest known area around it.
                             * @enum {string}
                             */
                            confidence?: "exact" | "interpolated" | "fallback";
                        }[];
                    };
                };
            };
        };
    };
    getV1GeocodeReverse: {
        parameters: {
            query: {
                /**
                 * @description `latitude,longitude` in degrees.
                 * @example -34.9053,-56.1914
                 */
                coordinates: string;
                /**
                 * @description The kinds of results: one or more of address, place, intersection, street, neighborhood, postalCode, locality, county, state, country, coarse, fine, separated by commas. `coarse` is postalCode, locality, county, state and country; `fine` is address and place.
                 * @example fine
                 */
                layers?: string;
                /** @description The language of the names of countries, and of other names if the data have them in this language: ar, de, en, es, fr, ja, ko, pt, ru, zh. */
                lang?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /**
                             * @description The attribution to show with the results.
                             * @example © OpenStreetMap contributors, GeoNames
                             */
                            attribution: string;
                        };
                    } & {
                        addresses: {
                            latitude: number;
                            longitude: number;
                            geometry: {
                                /** @constant */
                                type: "Point";
                                /** @description [longitude, latitude] */
                                coordinates: number[];
                            };
                            /**
                             * @description The kind of the result.
                             * @enum {string}
                             */
                            layer: "address" | "place" | "intersection" | "street" | "neighborhood" | "postalCode" | "locality" | "county" | "state" | "country";
                            /** @description Number and street in the order of the country, or the name. */
                            addressLabel?: string;
                            /** @description The name of the place. Such a result has no `addressLabel`. */
                            placeLabel?: string;
                            /** @description The categories of a place. */
                            categories?: string[];
                            /** @description House number. */
                            number?: string;
                            /** @description Apartment, suite or floor. */
                            unit?: string;
                            /** @description For an intersection, both streets. */
                            street?: string;
                            /** @description Part of a city. */
                            neighborhood?: string;
                            /** @description A borough of a large city. */
                            borough?: string;
                            /** @description City, town or village. */
                            city?: string;
                            /** @description Name. */
                            county?: string;
                            /** @description Name. */
                            state?: string;
                            /**
                             * @description The code of the state, if states of the country have one.
                             * @example NY
                             */
                            stateCode?: string;
                            /** @description Also called ZIP code. */
                            postalCode?: string;
                            /** @description The name in the language of `lang`. */
                            country?: string;
                            /**
                             * @description The two-letter code (ISO 3166-1 alpha-2).
                             * @example UY
                             */
                            countryCode?: string;
                            /** @description An emoji. */
                            countryFlag?: string;
                            /** @example Plaza Cagancha 1157, Montevideo, Uruguay */
                            formattedAddress: string;
                            /** @description The time zone at the point, and what its clocks show. */
                            timeZone: {
                                /** @example America/New_York */
                                id: string;
                                /** @example Eastern Daylight Time */
                                name: string;
                                /** @example EDT */
                                code: string;
                                /** @example 2024-04-09T10:12:00-04:00 */
                                currentTime: string;
                                /** @description The offset from UTC in seconds, including summer time. */
                                utcOffset: number;
                                /** @description How many seconds of the offset are summer time. */
                                dstOffset: number;
                            };
                            /** @description Metres; 0 inside. */
                            distance?: number;
                            /**
                             * @description Only for forward geocoding. `exact`: what was asked for. `interpolated`: a house between known ones. `fallback`: the smallest known area around it.
                             * @enum {string}
                             */
                            confidence?: "exact" | "interpolated" | "fallback";
                        }[];
                    };
                };
            };
        };
    };
    getV1SearchAutocomplete: {
        parameters: {
            query: {
                /**
                 * @description The text to look for, 1 to 1000 characters. Punctuation has no meaning.
                 * @example 18 de ju
                 */
                query: string;
                /**
                 * @description `latitude,longitude` in degrees.
                 * @example -34.9053,-56.1914
                 */
                near?: string;
                /** @description The kinds of results: one or more of address, place, intersection, street, neighborhood, postalCode, locality, county, state, country, coarse, fine, separated by commas. `coarse` is postalCode, locality, county, state and country; `fine` is address and place. */
                layers?: string;
                /**
                 * @description Maximum number of records in the response.
                 * @example 2
                 */
                limit?: number;
                /** @description Only results in these countries: two-letter codes, separated by commas. */
                countryCode?: string;
                /** @description Only results with this postal code. */
                postalCode?: string;
                /** @description Only addresses that mail can be sent to. */
                mailable?: boolean;
                /** @description The language of the names of countries, and of other names if the data have them in this language: ar, de, en, es, fr, ja, ko, pt, ru, zh. */
                lang?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /**
                             * @description The attribution to show with the results.
                             * @example © OpenStreetMap contributors, GeoNames
                             */
                            attribution: string;
                        };
                    } & {
                        addresses: {
                            latitude: number;
                            longitude: number;
                            geometry: {
                                /** @constant */
                                type: "Point";
                                /** @description [longitude, latitude] */
                                coordinates: number[];
                            };
                            /**
                             * @description The kind of the result.
                             * @enum {string}
                             */
                            layer: "address" | "place" | "intersection" | "street" | "neighborhood" | "postalCode" | "locality" | "county" | "state" | "country";
                            /** @description Number and street in the order of the country, or the name. */
                            addressLabel?: string;
                            /** @description The name of the place. Such a result has no `addressLabel`. */
                            placeLabel?: string;
                            /** @description The categories of a place. */
                            categories?: string[];
                            /** @description House number. */
                            number?: string;
                            /** @description Apartment, suite or floor. */
                            unit?: string;
                            /** @description For an intersection, both streets. */
                            street?: string;
                            /** @description Part of a city. */
                            neighborhood?: string;
                            /** @description A borough of a large city. */
                            borough?: string;
                            /** @description City, town or village. */
                            city?: string;
                            /** @description Name. */
                            county?: string;
                            /** @description Name. */
                            state?: string;
                            /**
                             * @description The code of the state, if states of the country have one.
                             * @example NY
                             */
                            stateCode?: string;
                            /** @description Also called ZIP code. */
                            postalCode?: string;
                            /** @description The name in the language of `lang`. */
                            country?: string;
                            /**
                             * @description The two-letter code (ISO 3166-1 alpha-2).
                             * @example UY
                             */
                            countryCode?: string;
                            /** @description An emoji. */
                            countryFlag?: string;
                            /** @example Plaza Cagancha 1157, Montevideo, Uruguay */
                            formattedAddress: string;
                            /** @description The time zone at the point, and what its clocks show. */
                            timeZone: {
                                /** @example America/New_York */
                                id: string;
                                /** @example Eastern Daylight Time */
                                name: string;
                                /** @example EDT */
                                code: string;
                                /** @example 2024-04-09T10:12:00-04:00 */
                                currentTime: string;
                                /** @description The offset from UTC in seconds, including summer time. */
                                utcOffset: number;
                                /** @description How many seconds of the offset are summer time. */
                                dstOffset: number;
                            };
                            /** @description Metres; 0 inside. */
                            distance?: number;
                            /**
                             * @description Only for forward geocoding. `exact`: what was asked for. `interpolated`: a house between known ones. `fallback`: the smallest known area around it.
                             * @enum {string}
                             */
                            confidence?: "exact" | "interpolated" | "fallback";
                        }[];
                    };
                };
            };
        };
    };
    getV1GeocodeIp: {
        parameters: {
            query?: {
                /**
                 * @description An IPv4 or IPv6 address to look up instead of that of the request. Only used with a secret key.
                 * @example 72.229.28.185
                 */
                ip?: string;
                /** @description The language of the names of countries, and of other names if the data have them in this language: ar, de, en, es, fr, ja, ko, pt, ru, zh. */
                lang?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /**
                             * @description The attribution to show with the address.
                             * @example IP Geolocation by DB-IP (https://db-ip.com), © OpenStreetMap contributors
                             */
                            attribution?: string;
                        };
                    } & {
                        /**
                         * @description The address in its usual form; IPv4 mapped into IPv6 is IPv4.
                         * @example 72.229.28.185
                         */
                        ip: string;
                        /** @description Whether the IP address belongs to a proxy, a VPN, a hosting company or Tor. */
                        proxy: boolean;
                        address?: {
                            latitude: number;
                            longitude: number;
                            geometry: {
                                /** @constant */
                                type: "Point";
                                /** @description [longitude, latitude] */
                                coordinates: number[];
                            };
                            /**
                             * @description The kind of the result.
                             * @enum {string}
                             */
                            layer: "address" | "place" | "intersection" | "street" | "neighborhood" | "postalCode" | "locality" | "county" | "state" | "country";
                            /** @description Number and street in the order of the country, or the name. */
                            addressLabel?: string;
                            /** @description The name of the place. Such a result has no `addressLabel`. */
                            placeLabel?: string;
                            /** @description The categories of a place. */
                            categories?: string[];
                            /** @description House number. */
                            number?: string;
                            /** @description Apartment, suite or floor. */
                            unit?: string;
                            /** @description For an intersection, both streets. */
                            street?: string;
                            /** @description Part of a city. */
                            neighborhood?: string;
                            /** @description A borough of a large city. */
                            borough?: string;
                            /** @description City, town or village. */
                            city?: string;
                            /** @description Name. */
                            county?: string;
                            /** @description Name. */
                            state?: string;
                            /**
                             * @description The code of the state, if states of the country have one.
                             * @example NY
                             */
                            stateCode?: string;
                            /** @description Also called ZIP code. */
                            postalCode?: string;
                            /** @description The name in the language of `lang`. */
                            country?: string;
                            /**
                             * @description The two-letter code (ISO 3166-1 alpha-2).
                             * @example UY
                             */
                            countryCode?: string;
                            /** @description An emoji. */
                            countryFlag?: string;
                            /** @example Plaza Cagancha 1157, Montevideo, Uruguay */
                            formattedAddress: string;
                            /** @description The time zone at the point, and what its clocks show. */
                            timeZone: {
                                /** @example America/New_York */
                                id: string;
                                /** @example Eastern Daylight Time */
                                name: string;
                                /** @example EDT */
                                code: string;
                                /** @example 2024-04-09T10:12:00-04:00 */
                                currentTime: string;
                                /** @description The offset from UTC in seconds, including summer time. */
                                utcOffset: number;
                                /** @description How many seconds of the offset are summer time. */
                                dstOffset: number;
                            };
                            /** @description Metres; 0 inside. */
                            distance?: number;
                            /**
                             * @description Only for forward geocoding. `exact`: what was asked for. `interpolated`: a house between known ones. `fallback`: the smallest known area around it.
                             * @enum {string}
                             */
                            confidence?: "exact" | "interpolated" | "fallback";
                        };
                    };
                };
            };
        };
    };
    getV1MapsStylesById: {
        parameters: {
            query?: {
                /**
                 * @description The language of names, if the data have them in this language: ar, de, en, es, fr, ja, ko, pt, ru, zh. Without it, names are in the language of the place.
                 * @example de
                 */
                language?: string;
                /** @description A publishable key, for clients that cannot send the Authorization header. */
                publishableKey?: string;
            };
            header?: never;
            path: {
                /**
                 * @description One of radar-default-v1, radar-light-v1, radar-dark-v1, light, dark.
                 * @example radar-light-v1
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, unknown>;
                };
            };
        };
    };
    getV1MapsTilesByZByXByYMvt: {
        parameters: {
            query?: {
                /** @description The version in the URLs of styles: tiles may then be kept for a day. */
                v?: string;
                /** @description A publishable key, for clients that cannot send the Authorization header. */
                publishableKey?: string;
            };
            header?: never;
            path: {
                /** @description Zoom. */
                z: string;
                /** @description Column from the west, from 0 to 2^z - 1. */
                x: string;
                /** @description Row from the north, from 0 to 2^z - 1. */
                y: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/vnd.mapbox-vector-tile": string;
                };
            };
        };
    };
    getV1MapsGlyphsByFontstackByRangePbf: {
        parameters: {
            query?: {
                /** @description A publishable key, for clients that cannot send the Authorization header. */
                publishableKey?: string;
            };
            header?: never;
            path: {
                /** @description Fonts in the order of preference, separated by commas: Noto Sans Regular, Noto Sans Medium. */
                fontstack: string;
                /** @description The first and the last letter: 0-255, 256-511, and so on to 65280-65535. */
                range: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-protobuf": string;
                };
            };
        };
    };
    getV1MapsSpritesByName: {
        parameters: {
            query?: {
                /** @description A publishable key, for clients that cannot send the Authorization header. */
                publishableKey?: string;
            };
            header?: never;
            path: {
                /**
                 * @description icons.json, icons.png, icons@2x.json or icons@2x.png.
                 * @example icons.json
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, unknown>;
                    "image/png": string;
                };
            };
        };
    };
    getHealthz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        /** @constant */
                        status: "ok";
                    };
                };
            };
        };
    };
    getReadyz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        checks: {
                            name: string;
                            ok: boolean;
                            detail: string;
                        }[];
                    };
                };
            };
        };
    };
    getMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    getV1Stats: {
        parameters: {
            query?: {
                /** @description The start. Default: an hour before `to`. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                from?: string | number;
                /** @description The end, exclusive. Default: now. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                to?: string | number;
                /**
                 * @description Seconds.
                 * @example 3600
                 */
                step?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        stats: {
                            /**
                             * Format: date-time
                             * @description The time since which updates are counted: the last start of the server, or of one of its gateways. Counts are kept for a day.
                             */
                            since: string;
                            intervals: {
                                /** Format: date-time */
                                from: string;
                                /** @description Updates that were accepted, by all gateways together. */
                                updates: number;
                                /** @description The events whose `createdAt` is in the interval. It is null if more than a million events are in the time of the request. */
                                events: number | null;
                            }[];
                            totals: {
                                geofences: number;
                                beacons: number;
                            };
                        };
                    };
                };
            };
        };
    };
    getV1MapRegions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        mapRegions: {
                            name: string;
                            /** @description West, south, east, north in degrees. */
                            bounds: number[];
                            attribution: string;
                            /** @description `routing`, `geocoding`, `maps`. */
                            products: string[];
                        }[];
                    };
                };
            };
        };
    };
    putV1MapRegionsByName: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of the region: lower-case letters, digits, `.`, `_` and `-`, with a letter or a digit at both ends. */
                name: string;
            };
            cookie?: never;
        };
        /** @description The extract, as it is. At most 2048 MiB. */
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description Success. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        mapRegionImport: components["schemas"]["MapRegionImport"];
                    };
                };
            };
        };
    };
    getV1MapRegionsImports: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        mapRegionImports: components["schemas"]["MapRegionImport"][];
                    };
                };
            };
        };
    };
    getV1MapRegionsImportsById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The `_id` of the import.
                 * @example 7321e68de78329a1e56c5b2c
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        mapRegionImport: components["schemas"]["MapRegionImport"];
                    };
                };
            };
        };
    };
    postV1MapRegionsImportsByIdCancel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The `_id` of the import.
                 * @example 7321e68de78329a1e56c5b2c
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        mapRegionImport: components["schemas"]["MapRegionImport"];
                    };
                };
            };
        };
    };
    getV1System: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        system: {
                            version: string;
                            node: string;
                            engine: string;
                            /** Format: date-time */
                            startedAt: string;
                            memory: {
                                /** @description Bytes. */
                                used: number;
                                /** @description Bytes. */
                                total: number;
                            };
                            /** @description The disk with the data folder. */
                            disk: {
                                /** @description Bytes. */
                                free: number;
                                /** @description Bytes. */
                                total: number;
                            };
                            checks: {
                                name: string;
                                ok: boolean;
                                detail: string;
                            }[];
                            /** @description The metrics of this process that have no labels, by name, as in GET /metrics. */
                            metrics: {
                                [key: string]: number;
                            };
                        };
                    };
                };
            };
        };
    };
    getV1Simulations: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        /** @description Absent if no simulation is running. */
                        simulation?: {
                            devices: number;
                            /**
                             * Format: date-time
                             * @example 2026-11-20T04:21:00.123Z
                             */
                            startedAt: string;
                            /**
                             * Format: date-time
                             * @example 2026-11-20T04:21:00.123Z
                             */
                            endsAt: string;
                            /** @description Updates that were accepted. */
                            updates: number;
                        };
                    };
                };
            };
        };
    };
    postV1Simulations: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Default 200. */
                    devices?: number;
                    /** @description Default 30. */
                    minutes?: number;
                };
                "application/x-www-form-urlencoded": {
                    /** @description Default 200. */
                    devices?: number;
                    /** @description Default 30. */
                    minutes?: number;
                };
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        /** @description Absent if no simulation is running. */
                        simulation?: {
                            devices: number;
                            /**
                             * Format: date-time
                             * @example 2026-11-20T04:21:00.123Z
                             */
                            startedAt: string;
                            /**
                             * Format: date-time
                             * @example 2026-11-20T04:21:00.123Z
                             */
                            endsAt: string;
                            /** @description Updates that were accepted. */
                            updates: number;
                        };
                    };
                };
            };
        };
    };
    deleteV1Simulations: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & Record<string, unknown>;
                };
            };
        };
    };
    getV1AsyncapiJson: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, unknown>;
                };
            };
        };
    };
    getV1Webhooks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        webhooks: components["schemas"]["Webhook"][];
                    };
                };
            };
        };
    };
    postV1Webhooks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookDefinition"];
                "application/x-www-form-urlencoded": components["schemas"]["WebhookDefinition"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        webhook: components["schemas"]["Webhook"];
                    };
                };
            };
        };
    };
    getV1WebhooksById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example cf61d066da5c5bd79d243575 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        webhook: components["schemas"]["Webhook"];
                    };
                };
            };
        };
    };
    deleteV1WebhooksById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example cf61d066da5c5bd79d243575 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & Record<string, unknown>;
                };
            };
        };
    };
    patchV1WebhooksById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example cf61d066da5c5bd79d243575 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["WebhookChange"];
                "application/x-www-form-urlencoded": components["schemas"]["WebhookChange"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        webhook: components["schemas"]["Webhook"];
                    };
                };
            };
        };
    };
    postV1WebhooksByIdRotate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example cf61d066da5c5bd79d243575 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        webhook: components["schemas"]["Webhook"];
                    };
                };
            };
        };
    };
    postV1WebhooksByIdEnable: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example cf61d066da5c5bd79d243575 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        webhook: components["schemas"]["Webhook"];
                    };
                };
            };
        };
    };
    postV1WebhooksByIdTest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example cf61d066da5c5bd79d243575 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        test: {
                            /** @description Whether the endpoint responded with 2xx. */
                            delivered: boolean;
                            /**
                             * Format: date-time
                             * @example 2026-11-20T04:21:00.123Z
                             */
                            at: string;
                            /** @description Milliseconds. */
                            latency: number;
                            /** @description HTTP status; absent if there was no response. */
                            status?: number;
                            /** @description Why the attempt failed; absent if it succeeded. */
                            error?: string;
                            /** @description The beginning of the last response body, up to 1 KB. */
                            lastResponseBody?: string;
                        };
                    };
                };
            };
        };
    };
    getV1WebhooksByIdDeliveries: {
        parameters: {
            query?: {
                /** @example delivered */
                status?: "pending" | "delivered" | "failed" | "dropped";
                /** @description Maximum number of records in the response. */
                limit?: number;
                /** @description The `_id` of a record: the response has the records after it in the order of the list. The record need not match the filters. For the next page, send the `_id` of the last record that you have. */
                before?: string;
                /** @description Only records whose `createdAt` (when it was made, by the server’s clock) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdBefore?: string | number;
                /** @description Only records whose `createdAt` (when it was made, by the server’s clock) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdAfter?: string | number;
            };
            header?: never;
            path: {
                /** @example cf61d066da5c5bd79d243575 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /** @description Whether more records match than `limit`. */
                            hasMore: boolean;
                        };
                    } & {
                        deliveries: components["schemas"]["Delivery"][];
                    };
                };
            };
        };
    };
    postV1WebhooksByIdRedeliver: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example cf61d066da5c5bd79d243575 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Required if there is no from. */
                    deliveryId?: string;
                    /**
                     * @description Required if there is no deliveryId. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
                     * @example 2026-11-20T04:21:00.123Z
                     */
                    from?: string | number;
                    /**
                     * @description ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
                     * @example 2026-11-20T04:21:00.123Z
                     */
                    to?: string | number;
                } & (unknown | unknown);
                "application/x-www-form-urlencoded": {
                    /** @description Required if there is no from. */
                    deliveryId?: string;
                    /**
                     * @description Required if there is no deliveryId. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
                     * @example 2026-11-20T04:21:00.123Z
                     */
                    from?: string | number;
                    /**
                     * @description ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).
                     * @example 2026-11-20T04:21:00.123Z
                     */
                    to?: string | number;
                } & (unknown | unknown);
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        webhook?: components["schemas"]["Webhook"];
                        delivery?: components["schemas"]["Delivery"];
                    };
                };
            };
        };
    };
    getV1Hooks: {
        parameters: {
            query?: {
                tag?: string;
                externalId?: string;
                /** @description `metadata[key]=value`: matches the value as a string, and also as a boolean or number. */
                metadata?: {
                    [key: string]: string;
                };
                /** @description A text to look for in the description, tag and externalId. Upper and lower case are equal. */
                text?: string;
                /** @description Only records whose `createdAt` (when it was created, by the server’s clock) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdBefore?: string | number;
                /** @description Only records whose `createdAt` (when it was created, by the server’s clock) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                createdAfter?: string | number;
                /** @description Only records whose `updatedAt` (when its definition was last written, by the server’s clock) is earlier. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                updatedBefore?: string | number;
                /** @description Only records whose `updatedAt` (when its definition was last written, by the server’s clock) is later. ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds). */
                updatedAfter?: string | number;
                /** @description Maximum number of records in the response. */
                limit?: number;
                /** @description The `_id` of a record: the response has the records after it in the order of the list. The record need not match the filters. For the next page, send the `_id` of the last record that you have. */
                before?: string;
                /** @description Texts are sorted by their letters, and numbers in them by their value. */
                sortBy?: "createdAt" | "updatedAt" | "description" | "tag" | "externalId";
                /** @description Absent: `desc` for dates, `asc` for texts. */
                order?: "asc" | "desc";
                /** @description Whether the answer should contain `meta.total`. */
                includeTotal?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                            /** @description Whether more records match than `limit`. */
                            hasMore: boolean;
                            /** @description How many records match the filters on all pages; only with `includeTotal`. */
                            total?: number;
                        };
                    } & {
                        hooks: components["schemas"]["Hook"][];
                    };
                };
            };
        };
    };
    postV1Hooks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewHook"];
                "application/x-www-form-urlencoded": components["schemas"]["NewHook"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        hook: components["schemas"]["Hook"];
                    };
                };
            };
        };
    };
    getV1HooksByTagByExternalId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example erp */
                tag: string;
                /** @example arrivals */
                externalId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        hook: components["schemas"]["Hook"];
                    };
                };
            };
        };
    };
    putV1HooksByTagByExternalId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example erp */
                tag: string;
                /** @example arrivals */
                externalId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["HookDefinition"];
                "application/x-www-form-urlencoded": components["schemas"]["HookDefinition"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        hook: components["schemas"]["Hook"];
                    };
                };
            };
        };
    };
    deleteV1HooksByTagByExternalId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example erp */
                tag: string;
                /** @example stores */
                externalId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & Record<string, unknown>;
                };
            };
        };
    };
    getV1HooksById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1e505bb38b11ccd469825b0e */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        hook: components["schemas"]["Hook"];
                    };
                };
            };
        };
    };
    putV1HooksById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1e505bb38b11ccd469825b0e */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["HookDefinition"];
                "application/x-www-form-urlencoded": components["schemas"]["HookDefinition"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & {
                        hook: components["schemas"]["Hook"];
                    };
                };
            };
        };
    };
    deleteV1HooksById: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @example 1e505bb38b11ccd469825b0e */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        meta: {
                            code: number;
                        };
                    } & Record<string, unknown>;
                };
            };
        };
    };
    getV1OpenapiJson: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description An OpenAPI 3.1 document, without `meta`. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, unknown>;
                };
            };
        };
    };
}
