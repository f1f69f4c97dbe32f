/**
 * Where the inspector's configuration comes from: flags, a composition of the harness, the plugin's defaults, in
 * this order. What comes out has passed the schema that a host mounts the plugin with.
 *
 * @module @deepseek-ai/dsh-agent-instructions/cli-config
 */
import { readFile } from 'node:fs/promises'
import { parseDocument } from 'yaml'
import { Config } from './config.ts'
import { reasonOf } from './reason.ts'

/** The budget when neither a flag nor a composition names one: that of the harness's own profiles. */
export const DEFAULT_MAX_BYTES = 65_536

/** A mistake of whoever runs the command, worded for them. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** A value that stands in YAML as `!!js …`: only the host can evaluate it. */
class Expression {
  readonly source: string
  constructor(source: string) {
    this.source = source
  }
}

/** One row of a composition, as far as it is understood here. */
interface Entry {
  id?: unknown
  name?: unknown
  config?: unknown
  disabled?: unknown
}

const PACKAGE = '@deepseek-ai/dsh-agent-instructions'
const NAMES: readonly unknown[] = [PACKAGE, 'agent-instructions']
const JS_TAG = { tag: 'tag:yaml.org,2002:js', resolve: (source: string) => new Expression(source) }

/**
 * Read the plugin's options from a composition: a list of entries, groups of entries within it, or a list of patches.
 * @param file - path of the YAML or JSON file.
 * @returns the options as they stand there.
 * @throws UsageError when the file, or an enabled entry of the plugin in it, cannot be found or read.
 */
async function readComposition(file: string): Promise<Record<string, unknown>> {
  const expected = `expected a list of entries, one with name: '${PACKAGE}'`
  const document = parseDocument(await readText(file), { customTags: [JS_TAG] })
  const [error] = document.errors
  if (error !== undefined) throw new UsageError(`${file} is not valid YAML: ${error.message.split('\n')[0]?.replace(/:$/, '')}`)
  const composition: unknown = document.toJS()
  if (!Array.isArray(composition)) throw new UsageError(`${file} holds ${kindOf(composition)}: ${expected}`)
  const rows = [...rowsOf(composition)]
  const found = rows.filter(({ name }) => NAMES.includes(name)).map(entry => patched(entry, rows))
  // A patch list need not have the row that it changes.
  const entries = found.length > 0 ? found : rows.filter(isPatch).slice(-1)
  const entry = entries.find(({ disabled }) => disabled !== true)
  if (entry === undefined) {
    throw new UsageError(entries.length > 0 ? `${file}: the entry of ${PACKAGE} is disabled` : `${file} has no entry of the plugin: ${expected}`)
  }
  const config = entry.config ?? {}
  if (!isRecord(config)) throw new UsageError(`${file}: config of ${PACKAGE} is ${kindOf(config)}, expected options such as maxBytes: ${DEFAULT_MAX_BYTES}`)
  return config
}

/**
 * Put options together and validate them as a host would.
 * @param flags - options given by flag; those that are undefined were not given.
 * @param file - the composition that the other ones are taken from, if there is one.
 * @returns complete options.
 * @throws UsageError that names the flag, or the file and the key, that is wrong.
 */
export async function configFrom(flags: Record<string, unknown>, file: string | undefined): Promise<Config> {
  const given = Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined))
  const composed = file === undefined ? { maxBytes: DEFAULT_MAX_BYTES } : await readComposition(file)
  const options = { ...composed, ...given }
  for (const [key, value] of Object.entries(options)) {
    const expression = expressionIn(value)
    if (expression !== undefined) {
      throw new UsageError(`${file}: ${key} is computed by the host (!!js ${expression.source}): give it as ${flagOf(key)}`)
    }
  }
  try {
    return new Config(options as Partial<Config> as Config)
  } catch (error) {
    const message = reasonOf(error)
    const key = /^\$\.(\w+)/.exec(message)?.[1]
    const where = key === undefined || file === undefined || key in given ? '' : `${file}: `
    throw new UsageError(key !== undefined && key in given ? message.replace(`$.${key}`, flagOf(key)) : where + message.replace(/^\$\./, ''))
  }
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new UsageError(`cannot read the composition ${file}: ${(error as NodeJS.ErrnoException).code ?? String(error)}`)
  }
}

function * rowsOf(list: readonly unknown[]): Generator<Entry> {
  for (const row of list) {
    if (!isRecord(row)) continue
    yield row
    // A group's config is a list of entries; a patch may insert some.
    for (const nested of [row['config'], row['insert']]) if (Array.isArray(nested)) yield * rowsOf(nested)
  }
}

/** A row without a name changes the entry that has its id; the last word on each key counts. */
function patched(entry: Entry, rows: readonly Entry[]): Entry {
  const patches = rows.filter(row => row.name === undefined && row.id !== undefined && row.id === entry.id)
  return patches.reduce((entry, patch) => ({ ...entry, ...patch, name: entry.name }), entry)
}

function isPatch(row: Entry): boolean {
  return row.name === undefined && row.id === 'agent-instructions'
}

function expressionIn(value: unknown): Expression | undefined {
  if (value instanceof Expression) return value
  return Array.isArray(value) ? value.map(expressionIn).find(expression => expression !== undefined) : undefined
}

function flagOf(key: string): string {
  return `--${key.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  return Array.isArray(value) ? 'a list' : `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`
}
