/**
 * Discovery, loading and rendering outside a session.
 *
 * @module @deepseek-ai/dsh-agent-instructions/load
 */
import { resolve } from 'node:path'
import { abortable } from './abort.ts'
import { resolveConfig } from './config.ts'
import type { Config } from './config.ts'
import { HostFiles } from './host-fs.ts'
import type { InstructionFs } from './provider-calls.ts'
import { discoverOnDisk, loadOnDisk, renderInstructions } from './native.ts'
import type { NativeBaseline } from './native.ts'
import type { InstructionFile, LoadedInstructionFile, RenderedWorkspaceContext } from './types.ts'

/** The plugin's options that matter once files are read. */
export type ReadOptions = Pick<Config, 'maxBytes' | 'maxSourceBytes' | 'maxTotalSourceBytes' | 'strictEscaping'>

/** What discovery needs to know. */
export interface DiscoverOptions extends Omit<Config, keyof ReadOptions> {
  /** Working directory where the chain ends. */
  cwd: string
  /** Project root to use instead of looking for markers. */
  projectRoot?: string
  /** Cancels discovery and reads. */
  signal?: AbortSignal
}

/** What loading needs to know besides. */
export interface LoadOptions extends DiscoverOptions, ReadOptions {
  /** Word the baseline as one that supersedes a visible predecessor. */
  replacePreviousBaseline?: boolean
}

/**
 * Find the instruction files of a directory on the host's disk: user-global, then from the
 * project root down to `cwd`. Every existing candidate counts, duplicates in content too.
 * @param options - directory, harness home, markers and candidates.
 * @returns files from broadest to most specific, each path once.
 * @throws the signal's reason when aborted; an error that names the marker, under `rootMarkerErrors: 'throw'`. (`'keep'` is
 * `'absent'` here: no baseline is in sight.)
 */
export async function discoverBaselineInstructionFiles(options: DiscoverOptions): Promise<InstructionFile[]> {
  options.signal?.throwIfAborted()
  const found = discoverOnDisk(resolveConfig({ ...options, maxBytes: 0 }), resolve(options.cwd), rootOf(options))
  return await abortable(found, options.signal)
}

/**
 * Discover, read and render the baseline of a directory.
 * @param options - discovery, byte caps and cancellation.
 * @param fileSystem - provider that answers; without one the host's disk is read natively.
 * @returns the rendering, or `undefined` when loading is off or there is nothing to load.
 * @throws the signal's reason when aborted; an error that names the marker, under `rootMarkerErrors: 'throw'`. (`'keep'` is
 * `'absent'` here: no baseline is in sight.)
 */
export async function loadBaselineInstructions(
  options: LoadOptions,
  fileSystem?: InstructionFs,
): Promise<RenderedWorkspaceContext | undefined> {
  const { signal } = options
  signal?.throwIfAborted()
  const config = resolveConfig(options)
  const supersedes = options.replacePreviousBaseline ?? false
  if (fileSystem === undefined) {
    return await abortable(loadOnDisk(config, resolve(options.cwd), rootOf(options), supersedes), signal) ?? undefined
  }
  const files = new HostFiles(config)
  try {
    const loaded = await files.run(fileSystem, signal, engine => engine.load(resolve(options.cwd), rootOf(options), supersedes))
    return loaded as NativeBaseline | undefined
  } finally {
    files.dispose()
  }
}

/**
 * Render loaded files within a byte budget: the most specific are kept first.
 * @param files - files from broadest to most specific.
 * @param options - `maxBytes`: UTF-8 bytes of the text; `replacePreviousBaseline`: word it as superseding;
 * `strictEscaping`: as the option of that name.
 * @returns the text and what the budget did to the files.
 */
export function renderWorkspaceContext(
  files: LoadedInstructionFile[],
  options: { maxBytes: number, replacePreviousBaseline?: boolean, strictEscaping?: boolean },
): RenderedWorkspaceContext {
  const { replacePreviousBaseline = false, strictEscaping = false } = options
  const maxBytes = typeof options.maxBytes === 'number' ? options.maxBytes : Number.NaN
  const { text, omitted, truncated: [index, originalBytes, includedBytes] } = renderInstructions(
    files.map(file => file.displayPath),
    files.map(file => file.content),
    maxBytes,
    String(maxBytes),
    strictEscaping,
    replacePreviousBaseline,
  )
  const dropped = files.slice(0, omitted)
  // With loading off nothing was rendered and the caller's own files come back.
  const off = !(maxBytes > 0 && Number.isFinite(maxBytes))
  return {
    text,
    omitted: off ? dropped : dropped.map(({ absolutePath, displayPath }) => ({ absolutePath, displayPath })),
    truncated: index === undefined ? [] : [{
      displayPath: (files[index] as LoadedInstructionFile).displayPath,
      originalBytes: originalBytes as number,
      includedBytes: includedBytes as number,
    }],
  }
}

/** The absolute project root that overrides discovery, if the caller gave one. */
export function rootOf(options: DiscoverOptions): string | undefined {
  return options.projectRoot === undefined ? undefined : resolve(options.projectRoot)
}
