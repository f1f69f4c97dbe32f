/**
 * "Which files are in, and why not that one?", answered without changing anything.
 *
 * @module @deepseek-ai/dsh-agent-instructions/inspect
 */
import { resolve } from 'node:path'
import { resolveConfig } from './config.ts'
import { HostFiles } from './host-fs.ts'
import type { InstructionFs } from './host-fs.ts'
import { abortable, rootOf } from './load.ts'
import type { DiscoverOptions } from './load.ts'
import { inspectOnDisk } from './native.ts'
import type { NativeInspection } from './native.ts'
import type { InstructionFile } from './types.ts'

/** What is to be inspected. */
export interface InspectOptions extends DiscoverOptions {
  /** UTF-8 bytes of one rendered message. */
  maxBytes: number
  /** UTF-8 bytes of one source file. */
  maxSourceBytes?: number
  /** A path, absolute or relative to `cwd`, that a file tool would touch. */
  touch?: string
}

/**
 * What became of a candidate: `loaded` whole; `truncated` or `omitted` by the byte budget; a
 * `duplicate` of an earlier one; `absent`; `unavailable`, because the provider failed; `oversized`,
 * beyond `maxSourceBytes`; `disabled`, because the budget turns loading off.
 */
export type InstructionState =
  | 'loaded' | 'truncated' | 'omitted' | 'duplicate' | 'absent' | 'unavailable' | 'oversized' | 'disabled'

/** One candidate file. */
export interface InspectedInstruction extends InstructionFile {
  /** Directory whose work it applies to: `user-global`, `.` or a root-relative path. */
  directory: string
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
  /** Why it is unavailable, in the provider's words. */
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
 * @throws the signal's reason when aborted.
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
  return {
    cwd,
    projectRoot: native.projectRoot,
    dshHome: config.dshHome,
    maxBytes: config.maxBytes,
    maxSourceBytes: config.maxSourceBytes,
    files: native.files.map(file => describe(file, config.maxBytes, failures)),
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

function describe(file: NativeInspection['files'][number], maxBytes: number, failures: ReadonlyMap<string, string>): InspectedInstruction {
  const { absolutePath, displayPath, scope, state, bytes, includedBytes, messageBytes, digest, duplicateOf } = file
  const reason = file.reason ?? (state === 'unavailable' ? failures.get(absolutePath) : undefined)
  return {
    absolutePath,
    displayPath,
    directory: scope.split('\0', 1)[0] as string,
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
