/**
 * Where instruction files live during a measurement: on the disk behind
 * dsh-fs-local, or in memory. Either way every provider call is noted, so that
 * operations can be counted and replayed without the plugin.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { LocalFileSystem } from '@deepseek-ai/dsh-fs-local'
import { World, memoryFs } from '../__test__/support/memory-fs.ts'
import type { OperationLog } from '../__test__/support/memory-fs.ts'

/** A tree of files, and the provider through which a host sees it. */
export interface Tree {
  /** Absolute directory that holds everything. */
  readonly root: string
  /** Calls in order: `resolve /a`, `stat /a`, `lstat /a`, `open /a`. */
  readonly log: OperationLog
  /** Cordis plugin that provides `ctx.fs`. */
  readonly provider: unknown
  /** Create or overwrite a file; parents come along. */
  write(path: string, content: string): void
  /** Create a directory; parents come along. */
  directory(path: string): void
  /** Remove what the tree holds outside the process. */
  dispose(): void
}

/** Makes a fresh tree; each side of a comparison gets its own. */
export type TreeFactory = () => Tree

type ResolveOptions = { cwd?: string, signal?: AbortSignal }

function notedLocalFs(log: OperationLog) {
  const absolute = (path: string, cwd?: string) => isAbsolute(path) ? path : resolve(cwd ?? process.cwd(), path)
  return class NotedLocalFs extends LocalFileSystem {
    override resolve(path: string, options?: ResolveOptions) {
      log.push(`resolve ${absolute(path, options?.cwd)}`)
      return super.resolve(path, options)
    }

    override stat(...parameters: Parameters<LocalFileSystem['stat']>) {
      log.push(`stat ${parameters[0].displayPath}`)
      return super.stat(...parameters)
    }

    override lstat(...parameters: Parameters<LocalFileSystem['lstat']>) {
      log.push(`lstat ${absolute(parameters[0], parameters[1]?.cwd)}`)
      return super.lstat(...parameters)
    }

    override streamText(...parameters: Parameters<LocalFileSystem['streamText']>) {
      log.push(`open ${parameters[0].displayPath}`)
      return super.streamText(...parameters)
    }
  }
}

/**
 * A tree in the system's temporary directory, seen through dsh-fs-local.
 * @returns an empty tree.
 */
export function diskTree(): Tree {
  const root = mkdtempSync(join(tmpdir(), 'instructions-bench-'))
  const log: OperationLog = []
  return {
    root,
    log,
    provider: notedLocalFs(log),
    write(path, content) {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, content)
    },
    directory(path) {
      mkdirSync(path, { recursive: true })
    },
    dispose() {
      rmSync(root, { recursive: true, force: true })
    },
  }
}

/**
 * A tree in memory.
 * @param latency - milliseconds that every provider call waits, by a timer; 0 answers at once.
 * @returns a factory of empty trees.
 */
export function memoryTree(latency = 0): TreeFactory {
  return () => {
    const world = new World()
    const log: OperationLog = []
    const delay = latency === 0 ? undefined : () => new Promise<void>(done => setTimeout(done, latency))
    return {
      root: '/bench',
      log,
      provider: memoryFs(world, log, delay),
      write: (path, content) => world.file(path, content),
      directory: path => world.directory(path),
      dispose() {},
    }
  }
}
