/**
 * What an idle session holds. Each side has a process of its own: memory that one
 * has freed would otherwise hide what the other one takes.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** KiB for each session. */
export interface Footprint {
  readonly side: string
  readonly sessions: number
  readonly resident: number
  readonly heap: number
  readonly external: number
}

/** Sides that the child process knows; the last one shows what the session and its message hold by themselves. */
export const SIDES = ['published', 'ours', 'the same sessions without a plugin'] as const

/**
 * Measure all sides.
 * @param sessions - how many idle sessions to keep.
 * @returns one line for each side.
 */
export async function measureMemory(sessions: number): Promise<Footprint[]> {
  const child = fileURLToPath(new URL('memory-child.ts', import.meta.url))
  const lines: Footprint[] = []
  for (const side of SIDES) {
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', child, side, String(sessions)])
    lines.push(JSON.parse(stdout) as Footprint)
  }
  return lines
}
