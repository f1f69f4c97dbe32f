#!/usr/bin/env node
/**
 * `dsh-agent-instructions [path]`: which instruction files a session in a directory would load, and why not the others.
 *
 * Reads the disk, changes nothing. The exit code tells a script whether something that is there was not loaded whole.
 *
 * @module @deepseek-ai/dsh-agent-instructions/cli
 */
import { stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { Command, CommanderError, Option } from 'commander'
import { configFrom, DEFAULT_MAX_BYTES, UsageError } from './cli-config.ts'
import { fallsShort, renderTable } from './cli-table.ts'
import { inspectAgentInstructions } from './inspect.ts'
import type { InspectOptions, InstructionInspection } from './inspect.ts'
import { reasonOf } from './reason.ts'

/** The exit codes; `--help` explains them. */
const exitCode = { whole: 0, usage: 1, short: 2 } as const

/** Columns of a screen that does not tell: wide, since it is likely to be a file. */
const DEFAULT_WIDTH = 120

const HELP = `
Options of the plugin override those of --config. A list is separated by commas,
or its flag is repeated; "" is an empty list.

Exit codes:
  0  Everything that is there is loaded whole: each file is loaded, or repeats
     one that is.
  1  A wrong option, configuration or path.
  2  Something is there that is not loaded whole: a file is truncated, omitted,
     oversized, refused, unavailable or disabled, or a directory or a broken
     link stands where a file is looked for.

Examples:
  dsh-agent-instructions
  dsh-agent-instructions packages/app --touch src/main.ts
  dsh-agent-instructions --config cordis.yml --render`

/** What commander makes of the flags. */
interface Flags {
  json?: true
  render?: true
  all?: true
  color: boolean
  touch?: string
  config?: string
  maxBytes?: unknown
  maxSourceBytes?: unknown
  symlinks?: string
  maxTotalSourceBytes?: unknown
  rootMarkerErrors?: string
  strictEscaping?: true
  dshHome?: string
  projectRootMarkers?: string[]
  instructionFileCandidates?: string[]
  localInstructionFileCandidates?: string[]
}

function program(run: (path: string | undefined, flags: Flags) => Promise<void>): Command {
  const { version } = createRequire(import.meta.url)('../package.json') as { version: string }
  return new Command('dsh-agent-instructions')
    .description('Show which AGENTS.md, CLAUDE.md and overlay files a session in a directory would load, and why not the others.')
    .version(version)
    .argument('[path]', 'directory of the session', '.')
    .addOption(new Option('--json', 'print the inspection as JSON').conflicts('render'))
    .option('--render', 'print exactly the text that a model gets, and nothing else; after a line feed, what the touch adds')
    .option('--touch <file>', 'show also what touching this file loads; a path relative to the session\'s directory')
    .option('--all', 'list absent candidates too')
    .option('--no-color', 'no colours; NO_COLOR and FORCE_COLOR are respected too')
    .optionsGroup('Options of the plugin:')
    .option('--config <file>', 'take the plugin\'s options from a composition of the harness, such as cordis.yml')
    .option('--max-bytes <number>', `UTF-8 bytes of one message (default: ${DEFAULT_MAX_BYTES})`, number)
    .option('--max-source-bytes <number>', 'UTF-8 bytes of one file (default: 1048576)', number)
    .option('--symlinks <which>', 'links: follow, contained or ignore (default: follow)')
    .option('--max-total-source-bytes <number>', 'UTF-8 bytes of all files of one message (default: no bound)', number)
    .option('--dsh-home <directory>', 'harness home (default: $DSH_HOME, then ~/.dsh)')
    .option('--project-root-markers <names>', 'entries that mark a project root (default: .git)', list)
    .option('--instruction-file-candidates <names>', 'file names (default: AGENTS.md,CLAUDE.md)', list)
    .option('--local-instruction-file-candidates <names>', 'overlay names (default: AGENTS.local.md,CLAUDE.local.md)', list)
    .option('--root-marker-errors <what>', 'a marker that cannot be probed: absent, keep or throw (default: absent)')
    .option('--strict-escaping', 'escape every spelling of the frame\'s tags and line breaks in paths')
    .addHelpText('after', HELP)
    .configureHelp({ minWidthToWrap: 20 })
    .exitOverride()
    .action(run)
}

/** What is no number is left for the schema to name. */
function number(text: string): unknown {
  const value = Number(text)
  return text.trim() === '' || (Number.isNaN(value) && text !== 'NaN') ? JSON.stringify(text) : value
}

function list(text: string, previous: readonly string[] = []): string[] {
  return [...previous, ...text.split(',').filter(name => name !== '')]
}

async function inspect(path: string, flags: Flags): Promise<void> {
  const { json, render, all, color, touch, config: file, ...options } = flags
  const config = await configFrom(options, file)
  const cwd = resolve(path)
  await requireDirectory(path, cwd)
  const inspection = await inspectAgentInstructions({ ...config, cwd, ...(touch === undefined ? {} : { touch }) })
  process.exitCode = inspection.files.some(fallsShort) ? exitCode.short : exitCode.whole
  if (render) {
    process.stdout.write(inspection.rendered.join('\n'))
  } else if (json) {
    process.stdout.write(`${JSON.stringify(inspection, null, 2)}\n`)
  } else {
    const needed = await bytesNeeded(inspection, { ...config, cwd, ...(touch === undefined ? {} : { touch }) })
    process.stdout.write(renderTable(inspection, { width: screenWidth(), color: hasColors(color), all: all ?? false, needed }))
  }
}

async function requireDirectory(path: string, cwd: string): Promise<void> {
  const info = await stat(cwd).catch((error: NodeJS.ErrnoException) => error)
  if (info instanceof Error) {
    throw new UsageError(info.code === 'ENOENT' ? `there is no directory ${path}` : `cannot inspect ${path}: ${info.code ?? info.message}`)
  }
  if (!info.isDirectory()) throw new UsageError(`${path} is not a directory; --touch is for files`)
}

/** The least budget that leaves nothing out and cuts nothing; undefined where that is so already. */
async function bytesNeeded({ files }: InstructionInspection, options: InspectOptions): Promise<number | undefined> {
  // No budget makes room for what was not even read.
  if (!files.some(({ state, digest }) => state === 'truncated' || (state === 'omitted' && digest !== undefined))) return undefined
  const { rendered } = await inspectAgentInstructions({ ...options, maxBytes: Number.MAX_SAFE_INTEGER })
  return Math.max(...rendered.map(text => Buffer.byteLength(text)))
}

function screenWidth(): number {
  const width = process.stdout.columns || Number(process.env['COLUMNS'])
  return width > 0 ? width : DEFAULT_WIDTH
}

/** `--no-color` first, then FORCE_COLOR, NO_COLOR, and what the terminal can do. */
function hasColors(wanted: boolean): boolean {
  const { FORCE_COLOR, NO_COLOR, TERM } = process.env
  if (!wanted) return false
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
  return !NO_COLOR && process.stdout.isTTY === true && TERM !== 'dumb'
}

// Whoever reads only the beginning, as `head` does, has seen enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

try {
  await program((path, flags) => inspect(path ?? '.', flags)).parseAsync()
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : exitCode.usage
  } else {
    console.error(`error: ${reasonOf(error)}`)
    process.exitCode = exitCode.usage
  }
}
