/**
 * The floor: the provider calls that a plugin made, issued all at once through the
 * service's own proxy, with no plugin around them. A stat needs its resolve, and a
 * stream its target; nothing else waits for anything.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { FileSystem } from '@deepseek-ai/dsh-fs'
import type { OperationLog } from '../__test__/support/memory-fs.ts'
import type { Trial } from './trials.ts'

/** One path's calls: `stats` and `opens` on the target of one resolve, or a lone lstat. */
interface Chain {
  readonly path: string
  readonly lstat: boolean
  stats: number
  opens: number
}

/**
 * Group noted calls by what they depend on.
 * @param log - calls in the order in which they were made.
 * @returns chains that are independent of each other.
 */
export function chainsOf(log: OperationLog): Chain[] {
  const chains: Chain[] = []
  const latest = new Map<string, Chain>()
  const target = (path: string) => {
    const chain = latest.get(path)
    if (chain === undefined) throw new Error(`a call on ${path}, which was never resolved`)
    return chain
  }
  for (const entry of log) {
    const [operation, path] = [entry.slice(0, entry.indexOf(' ')), entry.slice(entry.indexOf(' ') + 1)]
    switch (operation) {
      case 'resolve': {
        const chain = { path, lstat: false, stats: 0, opens: 0 }
        chains.push(chain)
        latest.set(path, chain)
        break
      }
      case 'lstat': chains.push({ path, lstat: true, stats: 0, opens: 0 }); break
      case 'stat': target(path).stats++; break
      case 'open': target(path).opens++; break
      default: throw new Error(`unknown operation ${operation}`)
    }
  }
  return chains
}

async function issue(fs: FileSystem, { path, lstat, stats, opens }: Chain, signal: AbortSignal): Promise<void> {
  if (lstat) {
    await fs.lstat(path, undefined, signal)
    return
  }
  const target = await fs.resolve(path, { signal })
  for (let done = 0; done < stats; done++) await fs.stat(target, signal)
  for (let done = 0; done < opens; done++) {
    for await (const _ of await fs.streamText(target, signal));
  }
}

/**
 * Make a trial of a plugin's calls.
 * @param ctx - the host whose provider is asked.
 * @param chains - the calls.
 * @returns a trial that says nothing.
 */
export function floorTrial(ctx: Context, chains: readonly Chain[]): Trial {
  const { signal } = new AbortController()
  return {
    async work() {
      const fs = ctx.get('fs') as FileSystem
      await Promise.all(chains.map(chain => issue(fs, chain, signal)))
    },
    said: () => '',
  }
}
