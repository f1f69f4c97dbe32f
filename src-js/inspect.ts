/**
 * "Which files are in, and why not that one?", answered without changing anything.
 *
 * @module @deepseek-ai/dsh-agent-instructions/inspect
 */
import { lstat } from 'node:fs/promises'
import { dirname, isAbsolute, relative, resolve } from 'node:path'
import { abortable } from './abort.ts'
import { resolveConfig } from './config.ts'
import { HostFiles } from './host-fs.ts'
import type { InstructionFs } from './provider-calls.ts'
import { rootOf } from './load.ts'
import type { DiscoverOptions, ReadOptions } from './load.ts'
import { inspectOnDisk } from './native.ts'
import type { NativeInspection } from './native.ts'
import type { InstructionFile } from './types.ts'

/** What is to be inspected. */
export interface InspectOptions extends DiscoverOptions, ReadOptions {
  /** A path, absolute or relative to `cwd`, that a file tool would touch. */
  touch?: string
}

/**
 * What became of a candidate: `loaded` whole; `truncated` or `omitted` by the byte budget, or omitted by `maxTotalSourceBytes`; a
 * `duplicate` of an earlier one; `absent`; `unavailable`, because the provider failed; `oversized`,
 * beyond `maxSourceBytes`; `refused`, for where its link leads, by `symlinks`; `disabled`, because the budget turns loading off.
 */
export type InstructionState =
  | 'loaded' | 'truncated' | 'omitted' | 'duplicate' | 'absent' | 'unavailable' | 'oversized' | 'refused' | 'disabled'

/** One candidate file. */
export interface InspectedInstruction extends InstructionFile {
  /** Directory whose work it applies to: `user-global`, `.` or a root-relative path. */
  directory: string
  /** Which message it belongs to: what every session in `cwd` is told, or what the touch adds. Each has the whole budget. */
  message: 'baseline' | 'touch'
  /** What became of it. */
  state: InstructionState
  /** UTF-8 bytes of its content or, if it was not read, the size that the provider reports. */
  bytes?: number
  /** UTF-8 bytes of its content that stayed, when it is truncated. */
  includedBytes?: number
  /** UTF-8 bytes of the message that it takes, heading and escaping included; 0 when it is not in. */
  messageBytes: number
  /** `messageBytes` as a share of `maxBytes`, from 0 to 1. */
  budgetShare: number
  /** Lowercase hexadecimal SHA-1 of its content, when it was read. */
  digest?: string
  /** Model-facing path of the file that a duplicate repeats. */
  duplicateOf?: string
  /** Why it is unavailable, in the provider's words, or refused, or what stands in the place of an absent one. */
  reason?: string
}

/** An inspection. */
export interface InstructionInspection {
  /** Absolute directory that was inspected. */
  cwd: string
  /** Absolute project root. */
  projectRoot: string
  /** Absolute harness home. */
  dshHome: string
  /** The touched path, as it was given. */
  touch?: string
  /** UTF-8 bytes of one message. */
  maxBytes: number
  /** UTF-8 bytes of one source file. */
  maxSourceBytes: number
  /** Every candidate, from broadest to most specific. */
  files: InspectedInstruction[]
  /** What a fresh session would be told: the baseline's text, then what the touch adds; empty when nothing is loaded. */
  rendered: string[]
}

/**
 * Explain what a session in a directory would load.
 * @param options - directory, configuration and, if wanted, a touched path.
 * @param fileSystem - provider that answers; without one the host's disk is read natively.
 * @returns every candidate with what became of it, and the rendered text.
 * @throws the signal's reason when aborted; an error that names the marker, under `rootMarkerErrors: 'throw'`. (`'keep'` is
 * `'absent'` here: no baseline is in sight.)
 */
export async function inspectAgentInstructions(
  options: InspectOptions,
  fileSystem?: InstructionFs,
): Promise<InstructionInspection> {
  const { signal, touch } = options
  signal?.throwIfAborted()
  const config = resolveConfig(options)
  const cwd = resolve(options.cwd)
  const touched = touch === undefined ? [] : [touch]
  const failures = new Map<string, string>()
  const native = fileSystem === undefined
    ? await abortable(inspectOnDisk(config, cwd, rootOf(options), touched), signal)
    : await inspectProvider(fileSystem)
  const files = native.files.map(file => describe(file, cwd, config.maxBytes, failures))
  await Promise.all(files.filter(({ state }) => state === 'absent').map(async file => {
    const reason = await whatStandsAt(file.absolutePath, fileSystem, signal)
    if (reason !== undefined) file.reason = reason
  }))
  signal?.throwIfAborted()
  return {
    cwd,
    projectRoot: native.projectRoot,
    dshHome: config.dshHome,
    ...(touch === undefined ? {} : { touch }),
    maxBytes: config.maxBytes,
    maxSourceBytes: config.maxSourceBytes,
    files,
    rendered: native.blocks,
  }

  async function inspectProvider(fs: InstructionFs): Promise<NativeInspection> {
    const files = new HostFiles(config)
    try {
      return await files.run(fs, signal, engine => engine.inspect(cwd, rootOf(options), touched), failures) as NativeInspection
    } finally {
      files.dispose()
    }
  }
}

/** What a person may have taken for an instruction file. */
const NO_FILE: Partial<Record<string, string>> = {
  directory: 'a directory, not a file',
  symlink: 'a link that leads to no file',
  other: 'not a regular file',
}

async function whatStandsAt(path: string, fs: InstructionFs | undefined, signal: AbortSignal | undefined): Promise<string | undefined> {
  try {
    return NO_FILE[fs === undefined ? await entryType(path) : (await fs.lstat(path, undefined, signal))?.type ?? '']
  } catch {
    // Nothing is there, or nobody can tell: the core has called it absent.
    return undefined
  }
}

async function entryType(path: string): Promise<string> {
  const entry = await lstat(path)
  if (entry.isDirectory()) return 'directory'
  if (entry.isSymbolicLink()) return 'symlink'
  return entry.isFile() ? 'file' : 'other'
}

function describe(
  file: NativeInspection['files'][number],
  cwd: string,
  maxBytes: number,
  failures: ReadonlyMap<string, string>,
): InspectedInstruction {
  const { absolutePath, displayPath, scope, state, bytes, includedBytes, messageBytes, digest, duplicateOf } = file
  const reason = file.reason ?? (state === 'unavailable' || state === 'refused' ? failures.get(absolutePath) : undefined)
  const directory = scope.split('\0', 1)[0] as string
  return {
    absolutePath,
    displayPath,
    directory,
    message: directory !== 'user-global' && isBelow(cwd, dirname(absolutePath)) ? 'touch' : 'baseline',
    state: state as InstructionState,
    ...(bytes === undefined ? {} : { bytes }),
    ...(includedBytes === undefined ? {} : { includedBytes }),
    messageBytes,
    budgetShare: maxBytes > 0 && Number.isFinite(maxBytes) ? messageBytes / maxBytes : 0,
    ...(digest === undefined ? {} : { digest }),
    ...(duplicateOf === undefined ? {} : { duplicateOf }),
    ...(reason === undefined ? {} : { reason }),
  }
}

/** Only a touch reaches below the session's directory. */
function isBelow(cwd: string, directory: string): boolean {
  const path = relative(cwd, directory)
  return path !== '' && !path.startsWith('..') && !isAbsolute(path)
}
