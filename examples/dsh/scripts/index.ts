/** All scripts, in the order in which they are played. */
import type { Script } from '../script-types.ts'
import { discoveryScripts } from './discovery.ts'
import { changeScripts } from './changes.ts'
import { sessionScripts } from './sessions.ts'
import { textScripts } from './text.ts'

export const scripts: Script[] = [...discoveryScripts, ...changeScripts, ...textScripts, ...sessionScripts]
