/**
 * An in-memory `ctx.fs` provider whose every answer a test decides: links, odd
 * sizes, chunk boundaries and faults, with a log of what was asked.
 */
import { posix } from 'node:path'
import type { Context } from '@deepseek-ai/cordis'
import { FileSystem, FsError } from '@deepseek-ai/dsh-fs'
import type { FsInfo, FsPathInfo, FsTarget, FsTargetKey, FsVersion } from '@deepseek-ai/dsh-fs'

/** One entry of the tree. A link's `to` is relative to its own directory or absolute. */
export type Node =
  | { kind: 'file', content: string, version: string }
  | { kind: 'directory', version: string }
  | { kind: 'other', version: string }
  | { kind: 'link', to: string, version: string }

/** The provider operation a fault applies to; `open` is the `streamText()` call, `read` its iteration. */
export type FaultPoint = 'resolve' | 'stat' | 'open' | 'read'

/** The tree, its faults and its reporting quirks; shared by the providers of the hosts that are compared. */
export class World {
  readonly nodes = new Map<string, Node>()
  /** `point:path` to the number of code units streamed before the failure (used by `read` only). */
  readonly faults = new Map<string, number>()
  /** Code units per streamed chunk. */
  chunkSize = 65_536
  /** How `stat` reports a size: the truth, nothing, or a constant. */
  sizes: 'true' | 'missing' | number = 'true'
  private clock = 0

  version(): string {
    return `v${++this.clock}`
  }

  file(path: string, content: string): void {
    this.directory(posix.dirname(path))
    this.nodes.set(path, { kind: 'file', content, version: this.version() })
  }

  directory(path: string): void {
    if (path !== '/') this.directory(posix.dirname(path))
    if (this.nodes.get(path)?.kind !== 'directory') this.nodes.set(path, { kind: 'directory', version: this.version() })
  }

  link(path: string, to: string): void {
    this.directory(posix.dirname(path))
    this.nodes.set(path, { kind: 'link', to, version: this.version() })
  }

  other(path: string): void {
    this.directory(posix.dirname(path))
    this.nodes.set(path, { kind: 'other', version: this.version() })
  }

  remove(path: string): void {
    for (const key of [...this.nodes.keys()]) if (key === path || key.startsWith(`${path}/`)) this.nodes.delete(key)
  }

  rename(from: string, to: string): void {
    const moved = [...this.nodes].filter(([key]) => key === from || key.startsWith(`${from}/`))
    this.remove(from)
    this.remove(to)
    this.directory(posix.dirname(to))
    for (const [key, node] of moved) this.nodes.set(to + key.slice(from.length), node)
  }

  /** Follow every link of `path`; a missing tail keeps its spelling, a file used as a directory throws. */
  realpath(path: string, hops = 0): string {
    if (hops > 40) throw new FsError(`too many links: ${path}`, 'FS_IO_ERROR')
    let current = '/'
    const parts = posix.resolve(path).split('/').filter(part => part !== '')
    for (const [index, part] of parts.entries()) {
      const at = this.nodes.get(current)
      if (at !== undefined && at.kind !== 'directory') throw new FsError(`not a directory: ${current}`, 'FS_NOT_FOUND')
      const next = posix.join(current, part)
      const node = this.nodes.get(next)
      if (node?.kind === 'link') {
        const rest = parts.slice(index + 1)
        return this.realpath(posix.resolve(current, node.to, ...rest), hops + 1)
      }
      current = next
    }
    return current
  }
}

/** What one provider was asked, in order: `resolve /a`, `stat /a`, `open /a`. */
export type OperationLog = string[]

/** Build the Cordis plugin class of a provider over `world`, which appends to `log`. */
export function memoryFs(world: World, log: OperationLog, delay?: () => Promise<void>) {
  return class MemoryFs extends FileSystem {
    static override readonly name: string = 'memory-fs'

    constructor(ctx: Context) {
      super(ctx)
    }

    async resolve(path: string, opts?: { cwd?: string, signal?: AbortSignal }): Promise<FsTarget> {
      const displayPath = posix.resolve(opts?.cwd ?? '/', path)
      log.push(`resolve ${displayPath}`)
      await delay?.()
      if (opts?.signal?.aborted) throw new FsError('resolve aborted', 'FS_ABORTED')
      if (world.faults.has(`resolve:${displayPath}`)) throw new FsError(`fault: resolve ${displayPath}`, 'FS_IO_ERROR')
      return { displayPath, targetKey: world.realpath(displayPath) as FsTargetKey }
    }

    async stat(target: FsTarget, signal?: AbortSignal): Promise<FsInfo | undefined> {
      log.push(`stat ${target.displayPath}`)
      await delay?.()
      if (signal?.aborted) throw new FsError('stat aborted', 'FS_ABORTED')
      if (world.faults.has(`stat:${target.displayPath}`)) throw new FsError(`fault: stat ${target.displayPath}`, 'FS_IO_ERROR')
      const node = world.nodes.get(target.targetKey)
      if (node === undefined || node.kind === 'link') return undefined
      const version = node.version as FsVersion
      if (node.kind !== 'file') return { version, type: node.kind }
      const info: FsInfo = { version, type: 'file' }
      if (world.sizes === 'true') info.size = Buffer.byteLength(node.content)
      else if (world.sizes !== 'missing') info.size = world.sizes
      return info
    }

    async lstat(path: string, opts?: { cwd?: string }, signal?: AbortSignal): Promise<FsPathInfo | undefined> {
      const displayPath = posix.resolve(opts?.cwd ?? '/', path)
      log.push(`lstat ${displayPath}`)
      await delay?.()
      if (signal?.aborted) throw new FsError('lstat aborted', 'FS_ABORTED')
      if (world.faults.has(`stat:${displayPath}`)) throw new FsError(`fault: lstat ${displayPath}`, 'FS_IO_ERROR')
      const node = world.nodes.get(posix.join(world.realpath(posix.dirname(displayPath)), posix.basename(displayPath)))
      if (node === undefined) return undefined
      return { version: node.version as FsVersion, type: node.kind === 'link' ? 'symlink' : node.kind }
    }

    async streamText(target: FsTarget, signal?: AbortSignal): Promise<AsyncIterable<string>> {
      log.push(`open ${target.displayPath}`)
      await delay?.()
      if (signal?.aborted) throw new FsError('read aborted', 'FS_ABORTED')
      if (world.faults.has(`open:${target.displayPath}`)) throw new FsError(`fault: open ${target.displayPath}`, 'FS_IO_ERROR')
      const node = world.nodes.get(target.targetKey)
      if (node?.kind !== 'file') throw new FsError(`cannot read ${target.displayPath}`, 'FS_NOT_FOUND')
      const failAt = world.faults.get(`read:${target.displayPath}`)
      const { content } = node
      const { chunkSize } = world
      return (async function * () {
        for (let at = 0; at < content.length; at += chunkSize) {
          if (signal?.aborted) throw new FsError('read aborted', 'FS_ABORTED')
          if (failAt !== undefined && at >= failAt) throw new FsError(`fault: read ${target.displayPath}`, 'FS_IO_ERROR')
          yield content.slice(at, at + chunkSize)
        }
        if (failAt !== undefined) throw new FsError(`fault: read ${target.displayPath}`, 'FS_IO_ERROR')
      })()
    }

    processPath(target: FsTarget): string {
      return String(target.targetKey)
    }

    fileUrl(target: FsTarget): string {
      return `file://${target.targetKey}`
    }

    contains(parent: FsTarget, child: FsTarget): boolean {
      return child.targetKey === parent.targetKey || child.targetKey.startsWith(`${parent.targetKey}/`)
    }

    readText(): never {
      throw new Error('memory-fs: instruction loading must stream')
    }

    readBytes(): never {
      throw new Error('memory-fs: instruction loading must stream')
    }

    listDir(): never {
      throw new Error('memory-fs: instruction loading must not list directories')
    }

    writeText(): never {
      throw new Error('memory-fs: read only')
    }

    editText(): never {
      throw new Error('memory-fs: read only')
    }
  }
}
