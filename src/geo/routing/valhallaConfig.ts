/**
 * Valhalla's configuration for answering requests, as JSON. Its limits are above those of the interface, because what
 * the interface allows must not fail in the engine, whose errors say less.
 */

const KILOMETERS = 1000
/** The largest distance of all modes, which is that of a car. The matrix search is the more expensive one. */
const MAX_DISTANCE_METERS = 5000 * KILOMETERS
export const MAX_MATRIX_METERS = 400 * KILOMETERS
/**
 * The search for places that are far apart leaves out roads of this length, so it must be longer than any road to a
 * place within the other limit.
 */
const MAX_FAR_ROAD_METERS = 1600 * KILOMETERS
/** The most locations. Directions have 25, and a matrix has up to 625 origins for one destination. */
const MAX_LOCATIONS = 626
const MAX_MATRIX_CELLS = 625
const MAX_CONTOUR_MINUTES = 120
/** The most points of a path, and the largest distance between its ends in metres, in a straight line. */
const MAX_TRACE_POINTS = 16_000
const MAX_TRACE_METERS = 2000 * KILOMETERS
/** How far a point may be from a road, unless the request says less. */
const SEARCH_CUTOFF_METERS = 5 * KILOMETERS

const MODES = ['auto', 'truck', 'pedestrian', 'bicycle', 'motorcycle'] as const
const PARTS = ['mjolnir', 'loki', 'thor', 'odin', 'meili'] as const

export interface ValhallaRuntime {
  /** The absolute path of the folder with the tiles. */
  readonly tiles: string
  /** How many bytes of tiles each thread keeps in memory. */
  readonly tileCacheBytes: number
  /** Whether it is only for matrices over tens and hundreds of kilometres; see farMatrix.ts. */
  readonly isFar?: boolean
}

/** The text with which Valhalla's Actor is created. */
export function valhallaConfig({ tiles, tileCacheBytes, isFar = false }: ValhallaRuntime): string {
  const limitsOfMode = limits(isFar ? MAX_FAR_ROAD_METERS : MAX_MATRIX_METERS)
  const config = {
    mjolnir: {
      tile_dir: tiles,
      max_cache_size: tileCacheBytes,
      // With this, the least recently used tiles are removed. Without it, all tiles are removed when the limit is
      // reached.
      use_lru_mem_cache: true,
      lru_mem_cache_hard_control: true,
    },
    loki: {
      actions: [
        'locate',
        'route',
        'sources_to_targets',
        'isochrone',
        'trace_route',
        'trace_attributes',
        'status',
      ],
      use_connectivity: true,
      service_defaults: {
        radius: 0,
        minimum_reachability: 50,
        search_cutoff: SEARCH_CUTOFF_METERS,
        node_snap_tolerance: 5,
        street_side_tolerance: 5,
        street_side_max_distance: 1000,
        heading_tolerance: 60,
      },
    },
    thor: {
      // By default, Valhalla uses costmatrix for cars. In the sample city, its times and distances differ from those of
      // the routes between the same points in 18 of 100 cells, by up to 28 %. Those of timedistancematrix differ in 1 of
      // 800, and it takes no more processor time.
      source_to_target_algorithm: isFar ? 'costmatrix' : 'timedistancematrix',
      extended_search: false,
    },
    odin: { markup_formatter: { markup_enabled: false } },
    meili: {
      mode: 'auto',
      customizable: [
        'mode',
        'search_radius',
        'turn_penalty_factor',
        'gps_accuracy',
        'breakage_distance',
        'interpolation_distance',
      ],
      verbose: false,
      default: {
        sigma_z: 4.07,
        gps_accuracy: 5,
        beta: 3,
        max_route_distance_factor: 5,
        max_route_time_factor: 5,
        max_search_radius: 100,
        breakage_distance: 2000,
        interpolation_distance: 10,
        search_radius: 50,
        geometry: false,
        route: true,
        turn_penalty_factor: 0,
      },
      auto: { turn_penalty_factor: 200, search_radius: 50 },
      pedestrian: { turn_penalty_factor: 100, search_radius: 50 },
      bicycle: { turn_penalty_factor: 140 },
      grid: { size: 500, cache_size: 100_240 },
    },
    service_limits: {
      ...Object.fromEntries(MODES.map((mode) => [mode, limitsOfMode])),
      isochrone: {
        max_contours: 4,
        max_time_contour: MAX_CONTOUR_MINUTES,
        max_distance: 25_000,
        max_distance_contour: 200,
        max_locations: 1,
      },
      trace: {
        max_distance: MAX_TRACE_METERS,
        max_gps_accuracy: 100,
        max_search_radius: 100,
        max_shape: MAX_TRACE_POINTS,
        max_alternates: 3,
        max_alternates_shape: 100,
      },
      status: { allow_verbose: false },
      skadi: { max_shape: 1, min_resample: 10 },
      centroid: { max_distance: 1, max_locations: 2 },
      max_exclude_locations: 50,
      max_exclude_polygons_length: 10_000,
      max_reachability: 100,
      max_radius: 200,
      max_timedep_distance: MAX_DISTANCE_METERS,
      max_timedep_distance_matrix: limitsOfMode.max_matrix_distance,
      max_alternates: 2,
      max_distance_disable_hierarchy_culling: 0,
      hierarchy_limits: { allow_modification: false },
      // `avoid` is first tried as a ban.
      allow_hard_exclusions: true,
    },
  }
  // Without a type, nothing is logged. The default would log to the standard output.
  const silent = { logging: { type: '' } }
  return JSON.stringify({
    ...config,
    ...Object.fromEntries(PARTS.map((part) => [part, { ...config[part], ...silent }])),
  })
}

function limits(matrixMeters: number) {
  return {
    max_distance: MAX_DISTANCE_METERS,
    max_locations: MAX_LOCATIONS,
    max_matrix_distance: matrixMeters,
    max_matrix_location_pairs: MAX_MATRIX_CELLS,
    // There are no buses here, but Valhalla does not start without this.
    min_transit_walking_distance: 1,
    max_transit_walking_distance: 10_000,
  }
}
