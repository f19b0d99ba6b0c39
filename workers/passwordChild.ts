import { serveHashes } from '../src/accounts/hashChild.ts'

serveHashes()
