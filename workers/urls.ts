/** The entry points of threads and child processes. Each file has only a few lines. */
export const EVENT_INDEX_WORKER = new URL('./eventIndexWorker.ts', import.meta.url)
export const GEOCODER_WORKER = new URL('./geocoderWorker.ts', import.meta.url)
export const GEOMETRY_WORKER = new URL('./geometryWorker.ts', import.meta.url)
export const IP_RANGES_WORKER = new URL('./ipRangesWorker.ts', import.meta.url)
export const ROUTING_CHILD = new URL('./routingChild.ts', import.meta.url)
export const SAMPLE_REGION_CHILD = new URL('./sampleRegionChild.ts', import.meta.url)
export const WORLD_CHILD = new URL('./worldChild.ts', import.meta.url)
export const WEBHOOK_WORKER = new URL('./webhookWorker.ts', import.meta.url)
