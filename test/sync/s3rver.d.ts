declare module 's3rver' {
  /** An S3-compatible server with the keys S3RVER and S3RVER, as far as the tests use it. */
  export default class S3rver {
    constructor(options: {
      port: number
      address: string
      silent: boolean
      directory: string
      configureBuckets: { name: string }[]
    })
    run(): Promise<unknown>
    close(): Promise<void>
  }
}
