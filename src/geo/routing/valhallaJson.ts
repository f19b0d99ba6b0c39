/**
 * Valhalla's own JSON, as far as it is used: what its actions take and return.
 *
 * Times in answers are in seconds. Lengths are in the `units` of the request (kilometres if it has none), and in
 * `osrm` in metres.
 */

// The requests.

export type Costing = 'auto' | 'truck' | 'pedestrian' | 'bicycle' | 'motorcycle'

/** A location to which or through which to go. */
export interface RoutingLocation {
  readonly lat: number
  readonly lon: number
  /** `break` (the default of first and last) ends a leg; others pass through. */
  readonly type?: 'break' | 'through' | 'via' | 'break_through'
  /** The direction of travel at the start, in degrees clockwise from north. */
  readonly heading?: number
  /** How far a road's direction may differ from the heading, in degrees. The default is 60. */
  readonly heading_tolerance?: number
  /** All roads within this many metres of the point are candidates. With 0, the default, only the nearest is. */
  readonly radius?: number
  /** The distance in metres beyond which no road is searched. */
  readonly search_cutoff?: number
  /** The smallest number of nodes of a candidate's island. */
  readonly minimum_reachability?: number
  /** Whether a nearer candidate is worth a detour. The default is true. */
  readonly rank_candidates?: boolean
}

/** The preferences of a costing; Valhalla ignores unknown ones. `use_*` range from 0, avoid, to 1. */
export interface CostingOptions {
  readonly use_tolls?: number
  readonly use_highways?: number
  readonly use_ferry?: number
  /** Whether no answer is better than one with tolls. */
  readonly exclude_tolls?: boolean
  readonly exclude_highways?: boolean
  readonly exclude_ferries?: boolean
  /** The seconds and the cost of crossing a border. */
  readonly country_crossing_penalty?: number
  readonly country_crossing_cost?: number
  readonly [option: string]: unknown
}

/**
 * The time of the journey. The types are 0 for now, 1 for departure, 2 for arrival, and 3 for the same speeds all the
 * way. The value is a local time `YYYY-MM-DDTHH:MM`.
 */
export interface RoutingTime {
  readonly type: 0 | 1 | 2 | 3
  readonly value?: string
}

interface TravelRequest {
  readonly costing: Costing
  readonly costing_options?: { readonly [C in Costing]?: CostingOptions }
  readonly date_time?: RoutingTime
}

interface DirectionsRequest extends TravelRequest {
  readonly units?: 'kilometers' | 'miles'
  /** `none` leaves out maneuvers, and `maneuvers` leaves out their texts. */
  readonly directions_type?: 'none' | 'maneuvers' | 'instructions'
  /** A language such as `de-DE`. */
  readonly language?: string
  readonly shape_format?: 'polyline6' | 'polyline5' | 'geojson' | 'no_shape'
}

export interface RouteRequest extends DirectionsRequest {
  readonly locations: readonly RoutingLocation[]
  /** The number of alternatives to the best route. They are only available with two locations and without a time. */
  readonly alternates?: number
}

/** A request whose answer is in OSRM's form, which has bearings, banners and voice instructions. */
export interface OsrmRouteRequest extends RouteRequest {
  readonly format: 'osrm'
  readonly banner_instructions?: boolean
  readonly voice_instructions?: boolean
}

export interface MatrixRequest extends TravelRequest {
  readonly sources: readonly RoutingLocation[]
  readonly targets: readonly RoutingLocation[]
  readonly units?: 'kilometers' | 'miles'
  /** Without it, cells are rows of numbers, which take a twentieth of the bytes of an object per cell. */
  readonly verbose: false
}

/** A point of a path, with its time in epoch seconds if that is known. */
export interface TracePoint {
  readonly lat: number
  readonly lon: number
  readonly time?: number
  /** In metres. */
  readonly accuracy?: number
  readonly radius?: number
  readonly type?: 'break' | 'via'
}

export interface TraceRequest extends DirectionsRequest {
  readonly shape: readonly TracePoint[]
  readonly shape_match: 'map_snap' | 'edge_walk' | 'walk_or_snap'
  readonly use_timestamps?: boolean
  readonly trace_options?: {
    /** How far a road may be from a point, in metres. */
    readonly search_radius?: number
    /** The standard deviation of the points in metres. */
    readonly gps_accuracy?: number
    /** The distance between two points in metres beyond which the path is cut. */
    readonly breakage_distance?: number
    readonly interpolation_distance?: number
    readonly turn_penalty_factor?: number
  }
  /** The attributes of the answer, e.g. `edge.names`, which are much less to read than all of them. */
  readonly filters?: { readonly action: 'include' | 'exclude'; readonly attributes: readonly string[] }
}

export interface IsochroneRequest extends TravelRequest {
  readonly locations: readonly [RoutingLocation]
  readonly contours: readonly ({ readonly time: number } | { readonly distance: number })[]
  /** Whether the contours are polygons rather than lines. */
  readonly polygons: boolean
  /** Whether journeys end at the location. */
  readonly reverse?: boolean
  /** Islands that are smaller than this share of the largest are left out. It is from 0 to 1. */
  readonly denoise?: number
  /** The tolerance of the outline in metres. */
  readonly generalize?: number
}

export interface LocateRequest {
  readonly locations: readonly RoutingLocation[]
  readonly costing: Costing
  readonly verbose?: boolean
}

// The answers.

/** The location in the answer that belongs to one in the request. */
export interface AnsweredLocation {
  readonly lat: number
  readonly lon: number
  readonly type: string
  /** The index in the request. */
  readonly original_index: number
  readonly side_of_street?: string
}

export interface RouteSummary {
  /** In seconds. */
  readonly time: number
  /** In the units of the request. */
  readonly length: number
  readonly has_time_restrictions?: boolean
  readonly has_toll?: boolean
  readonly has_highway?: boolean
  readonly has_ferry?: boolean
  readonly min_lat: number
  readonly min_lon: number
  readonly max_lat: number
  readonly max_lon: number
}

/** A piece of a leg with one instruction. `type` is a number of Valhalla's list: 1 start, 4 to 6 destination, 10 right, … */
export interface Maneuver {
  readonly type: number
  readonly instruction?: string
  readonly verbal_pre_transition_instruction?: string
  readonly verbal_post_transition_instruction?: string
  readonly street_names?: readonly string[]
  readonly begin_street_names?: readonly string[]
  readonly time: number
  readonly length: number
  /** Indexes into the leg's shape. */
  readonly begin_shape_index: number
  readonly end_shape_index: number
  readonly bearing_before?: number
  readonly bearing_after?: number
  readonly travel_mode: string
  readonly travel_type?: string
  readonly sign?: {
    readonly exit_number_elements?: readonly { readonly text: string }[]
    readonly exit_name_elements?: readonly { readonly text: string }[]
    readonly exit_branch_elements?: readonly { readonly text: string }[]
    readonly exit_toward_elements?: readonly { readonly text: string }[]
  }
}

export interface RouteLeg {
  readonly summary: RouteSummary
  /** The shape in the request's `shape_format`, which is a polyline of six digits by default. */
  readonly shape: string
  readonly maneuvers?: readonly Maneuver[]
}

export interface Itinerary {
  readonly locations: readonly AnsweredLocation[]
  readonly legs: readonly RouteLeg[]
  readonly summary: RouteSummary
  readonly units: 'kilometers' | 'miles'
  readonly language: string
}

export interface RouteAnswer {
  readonly trip: Itinerary
  readonly alternates?: readonly { readonly trip: Itinerary }[]
}

/** The answer to {@link OsrmRouteRequest}. */
export interface OsrmAnswer {
  readonly code: 'Ok'
  readonly routes: readonly OsrmRoute[]
  readonly waypoints: readonly OsrmWaypoint[]
}

export interface OsrmWaypoint {
  /** Longitude and latitude of the location on the road. */
  readonly location: readonly [number, number]
  readonly name: string
  /** The distance to the point of the request in metres. */
  readonly distance: number
}

export interface OsrmRoute {
  readonly distance: number
  readonly duration: number
  readonly geometry: string
  readonly legs: readonly OsrmLeg[]
}

export interface OsrmLeg {
  readonly distance: number
  readonly duration: number
  readonly summary: string
  readonly steps: readonly OsrmStep[]
}

export interface OsrmStep {
  readonly distance: number
  readonly duration: number
  readonly geometry: string
  readonly name: string
  /** Numbers of the road, which are all there is if it has no name. */
  readonly ref?: string
  readonly mode: string
  readonly exits?: string
  readonly destinations?: string
  readonly maneuver: {
    readonly type: string
    readonly modifier?: string
    readonly exit?: number
    readonly location: readonly [number, number]
    readonly bearing_before: number
    readonly bearing_after: number
    readonly instruction?: string
  }
  readonly bannerInstructions?: readonly unknown[]
  readonly voiceInstructions?: readonly unknown[]
}

export interface MatrixAnswer {
  /** A row for each source with a number for each target, which is null if there is no way. */
  readonly sources_to_targets: {
    /** In the units of the request. */
    readonly distances: readonly (number | null)[][]
    /** In whole seconds. */
    readonly durations: readonly (number | null)[][]
  }
  readonly units: 'kilometers' | 'miles'
  /** The search that Valhalla used. */
  readonly algorithm: string
}

/** The points of a path and the roads under it. */
export interface TraceAnswer {
  readonly edges?: readonly TraceEdge[]
  readonly matched_points?: readonly MatchedPoint[]
  readonly shape?: string
  readonly units: 'kilometers' | 'miles'
  /** The quality of the match, if alternatives were requested. */
  readonly confidence_score?: number
}

export interface MatchedPoint {
  readonly lat: number
  readonly lon: number
  /** An `interpolated` point lies between two matched ones. */
  readonly type: 'unmatched' | 'interpolated' | 'matched'
  readonly edge_index?: number
  /** The share of the edge, from 0 to 1. */
  readonly distance_along_edge?: number
  /** The distance to the point of the request in metres. */
  readonly distance_from_trace_point?: number
  readonly begin_route_discontinuity?: boolean
  readonly end_route_discontinuity?: boolean
}

export interface TraceEdge {
  readonly names?: readonly string[]
  readonly length?: number
  /** In the units of the request per hour; `unlimited` on some motorways; absent if it is not known. */
  readonly speed_limit?: number | 'unlimited'
  readonly speed?: number
  readonly road_class?: string
  readonly way_id?: number
  readonly id?: number
  readonly begin_shape_index?: number
  readonly end_shape_index?: number
  readonly source_percent_along?: number
  readonly target_percent_along?: number
}

/** GeoJSON with a feature for each contour, the largest first. */
export interface IsochroneAnswer {
  readonly type: 'FeatureCollection'
  readonly features: readonly {
    readonly type: 'Feature'
    readonly properties: { readonly contour: number; readonly metric: 'time' | 'distance' }
    readonly geometry:
      | {
          readonly type: 'Polygon'
          readonly coordinates: readonly (readonly (readonly [number, number])[])[]
        }
      | { readonly type: 'LineString'; readonly coordinates: readonly (readonly [number, number])[] }
      | {
          readonly type: 'MultiPolygon'
          readonly coordinates: readonly (readonly (readonly (readonly [number, number])[])[])[]
        }
  }[]
}

/** The roads near a location; `edges` is null if there are none. */
export interface LocatedPoint {
  readonly input_lat: number
  readonly input_lon: number
  readonly edges: readonly LocatedEdge[] | null
  readonly nodes?: readonly unknown[] | null
}

export interface LocatedEdge {
  readonly correlated_lat: number
  readonly correlated_lon: number
  readonly way_id: number
  readonly percent_along: number
  readonly side_of_street: string
  /** The distance to the location in metres. It is only present with `verbose`. */
  readonly distance?: number
  readonly edge_info?: { readonly names: readonly string[]; readonly shape: string }
  readonly edge?: {
    readonly classification: { readonly classification: string }
    readonly drive_on_right?: boolean
  }
}

export interface StatusAnswer {
  readonly version: string
  /** The time of the newest tile in epoch seconds. */
  readonly tileset_last_modified: number
  readonly available_actions?: readonly string[]
}
