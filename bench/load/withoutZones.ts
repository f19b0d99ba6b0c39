/**
 * Loaded before a server, so that all its updates are evaluated as if no device were ever within its safe zone. The
 * difference shows what the zones are worth. There is no such setting, because nobody else needs it.
 */
import { DeviceColumns } from '../../src/actor/deviceColumns.ts'

DeviceColumns.prototype.zoneRadius = () => 0
