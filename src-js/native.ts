/**
 * Finds and loads the native addon: beside this file in a checkout, else in the
 * platform package that npm installed as an optional dependency.
 *
 * @module @deepseek-ai/dsh-agent-instructions/native
 */
import { createRequire } from 'node:module'
import type * as Addon from './addon.js'

export type { NativeConfig, NativeMessage, NativeBaseline, NativeInspection, NativeShortfall, Progress } from './addon.js'

const BINARY = 'dsh-agent-instructions'
const PACKAGE = '@deepseek-ai/dsh-agent-instructions'

/** Name of this platform in package and binary names, as napi-rs spells it. */
export function platformName(): string {
  const { platform, arch } = process
  if (platform === 'linux') return `linux-${arch}-${isMusl() ? 'musl' : 'gnu'}`
  return platform === 'win32' ? `win32-${arch}-msvc` : `${platform}-${arch}`
}

function isMusl(): boolean {
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined
  return report?.header !== undefined && report.header.glibcVersionRuntime === undefined
}

function load(): typeof Addon {
  const require = createRequire(import.meta.url)
  const name = platformName()
  const failures: Error[] = []
  for (const request of [`./${BINARY}.${name}.node`, `${PACKAGE}-${name}`]) {
    try {
      return require(request) as typeof Addon
    } catch (error) {
      failures.push(error as Error)
    }
  }
  throw new Error(
    `${PACKAGE}: no native binary could be loaded for ${name} (Node ${process.version}). `
    + `The package "${PACKAGE}-${name}" should have been installed as an optional dependency: `
    + `reinstall without --omit=optional and with a lock file made on this platform, or check that ${name} is supported. `
    + `Causes: ${failures.map(failure => failure.message.split('\n')[0]).join('; ')}`,
    { cause: failures.at(-1) },
  )
}

const addon = load()

export const { InstructionEngine, ProviderMemory, SessionMemory, renderInstructions, discoverOnDisk, loadOnDisk, inspectOnDisk } = addon
export type InstructionEngine = Addon.InstructionEngine
export type ProviderMemory = Addon.ProviderMemory
export type SessionMemory = Addon.SessionMemory
