/**
 * Configuration: the schema that a host validates at mount, and its resolution.
 *
 * @module @deepseek-ai/dsh-agent-instructions/config
 */
import { dshHomeDisplay, resolveDshHome } from '@deepseek-ai/dsh-home-paths'
import z from '@deepseek-ai/schemastery'
import type { NativeConfig } from './native.ts'

/** Options of the plugin (README, "Configuration"). */
export interface Config {
  /** Harness home that holds the user-global `AGENTS.md`; `~` is expanded. Defaults to `$DSH_HOME`, then `~/.dsh`. */
  dshHome?: string
  /** Names of entries that mark a project root; an empty list makes every session's cwd its root. Defaults to `['.git']`. */
  projectRootMarkers?: string[]
  /** UTF-8 bytes of one rendered baseline or batch. Non-positive or non-finite turns loading off. */
  maxBytes: number
  /** UTF-8 bytes of one source file, a positive integer; a larger file is not loaded. Defaults to 1 MiB. */
  maxSourceBytes?: number
  /** Same-directory file names, in order of precedence. Defaults to `['AGENTS.md', 'CLAUDE.md']`. */
  instructionFileCandidates?: string[]
  /** Same-directory overlay names, loaded after the base files; empty turns overlays off. */
  localInstructionFileCandidates?: string[]
  /**
   * Which links are followed (SECURITY.md): `follow`, as the published package has it: all; `contained`: those that lead into the
   * project root or the harness home; `ignore`: a candidate that is a link is not loaded, nor one that is reached through a link
   * that leads out of the two. Defaults to `follow`.
   */
  symlinks?: 'follow' | 'contained' | 'ignore'
  /**
   * UTF-8 bytes of all source files that one baseline or one batch is made of, a positive integer: the most specific files are
   * read first, the first that does not fit and every broader one are left out (SECURITY.md). Without it there is no such bound.
   */
  maxTotalSourceBytes?: number
  /**
   * What a root marker that cannot be probed comes to (SECURITY.md): `absent`, as the published package has it: it is none, and
   * the root may move; `keep`: the root of the baseline that the model sees stays; `throw`: nothing is composed, and the error is
   * reported. Defaults to `absent`.
   */
  rootMarkerErrors?: 'absent' | 'keep' | 'throw'
  /**
   * Escape every spelling of the frame's tags, not the literal closing tag alone, and keep paths on one line
   * (SECURITY.md). Defaults to false, as the published package has it.
   */
  strictEscaping?: boolean
}

// The first of each is the default.
const SYMLINKS = ['follow', 'contained', 'ignore'] as const
const ROOT_MARKER_ERRORS = ['absent', 'keep', 'throw'] as const
const DEFAULT_PROJECT_ROOT_MARKERS = ['.git']
const DEFAULT_MAX_SOURCE_BYTES = 1024 * 1024
const DEFAULT_CANDIDATES = ['AGENTS.md', 'CLAUDE.md']
const DEFAULT_LOCAL_CANDIDATES = ['AGENTS.local.md', 'CLAUDE.local.md']

const oneOf = <T extends string>(words: readonly T[]) => z.union(words.map(word => z.const(word)))

/** The schema; a wrong value fails the mount with schemastery's own error, which names the field. */
export const Config: z<Config> = z.object({
  dshHome: z.string(),
  projectRootMarkers: z.array(z.string()).default(DEFAULT_PROJECT_ROOT_MARKERS),
  maxBytes: z.number().required(),
  maxSourceBytes: z.number().step(1).min(1).default(DEFAULT_MAX_SOURCE_BYTES),
  instructionFileCandidates: z.array(z.string()).default(DEFAULT_CANDIDATES),
  localInstructionFileCandidates: z.array(z.string()).default(DEFAULT_LOCAL_CANDIDATES),
  // Without a default here: a configuration that does not name them comes out as from the published schema.
  symlinks: oneOf(SYMLINKS),
  maxTotalSourceBytes: z.number().step(1).min(1),
  rootMarkerErrors: oneOf(ROOT_MARKER_ERRORS),
  strictEscaping: z.boolean(),
}) as z<Config>

/**
 * Apply defaults and describe the configuration to the core.
 * @param config - options as validated, or as a caller of the load functions gave them.
 * @returns resolved options, numbers together with JavaScript's spelling of them.
 * @throws a TypeError that names the option, for a word or a name that is none.
 */
export function resolveConfig(config: Config): NativeConfig {
  const dshHome = resolveDshHome(config.dshHome)
  const maxSourceBytes = config.maxSourceBytes ?? DEFAULT_MAX_SOURCE_BYTES
  const total = config.maxTotalSourceBytes ?? undefined
  return {
    dshHome,
    dshHomeDisplay: dshHomeDisplay(dshHome),
    projectRootMarkers: names('projectRootMarkers', config.projectRootMarkers ?? DEFAULT_PROJECT_ROOT_MARKERS),
    // Callers of the load functions are not validated: what is no number turns loading off, what is no cap admits nothing.
    maxBytes: typeof config.maxBytes === 'number' ? config.maxBytes : Number.NaN,
    maxBytesSpelling: String(config.maxBytes),
    maxSourceBytes: Number.isFinite(maxSourceBytes) ? maxSourceBytes : 0,
    maxSourceSpelling: String(maxSourceBytes),
    instructionFileCandidates: names('instructionFileCandidates', config.instructionFileCandidates ?? DEFAULT_CANDIDATES),
    localInstructionFileCandidates:
      names('localInstructionFileCandidates', config.localInstructionFileCandidates ?? DEFAULT_LOCAL_CANDIDATES),
    symlinks: word('symlinks', config.symlinks, SYMLINKS),
    ...(total === undefined ? {} : { maxTotalSourceBytes: Number.isFinite(total) ? total : 0 }),
    rootMarkerErrors: word('rootMarkerErrors', config.rootMarkerErrors, ROOT_MARKER_ERRORS),
    strictEscaping: config.strictEscaping === true,
    windows: process.platform === 'win32',
  }
}

/** A word that is not known must not pass for the default, which is the laxest one. */
function word<T extends string>(field: keyof Config, value: unknown, words: readonly [T, ...T[]]): T {
  if (value === undefined || value === null) return words[0]
  const known = words.find(word => word === value)
  if (known === undefined) throw new TypeError(`$.${field} expected ${words.map(word => JSON.stringify(word)).join(' | ')} but got ${String(value)}`)
  return known
}

/** The schema lets a null through where a string is expected; the core must not meet one. */
function names(field: keyof Config, list: readonly unknown[]): string[] {
  return list.map((name, index) => {
    if (typeof name !== 'string') throw new TypeError(`$.${field}[${index}] expected string but got ${String(name)}`)
    return name
  })
}
