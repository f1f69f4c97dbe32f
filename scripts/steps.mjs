// @ts-check
/** Runs commands one after the other with their output passed on, and tells how each one ended. */
import { spawn } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { root } from './manifest.mjs'

const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM'])

/**
 * Tell whether a module is what Node was started with.
 * @param {string} url - `import.meta.url` of the module.
 * @returns {boolean}
 */
export function isMain(url) {
  return process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(url)
}

/**
 * Run one command to its end.
 * @param {string} title - heads the output.
 * @param {string[]} command
 * @param {{ deadline?: number }} [options] - `deadline`: time of `performance.now()` at which the command and all that it started are ended.
 * @returns {Promise<{ passed: boolean, output: string }>} whether it exited with 0, and what it printed.
 */
export async function run(title, command, { deadline } = {}) {
  const started = performance.now()
  console.log(`\n=== ${title}: ${command.join(' ')}`)
  const windows = process.platform === 'win32'
  const [file = '', ...args] = command
  // A group of its own, so that a command that hangs can be ended together with what it started.
  const child = spawn(file, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], detached: !windows, shell: windows })
  let output = ''
  for (const [source, target] of /** @type {const} */ ([[child.stdout, process.stdout], [child.stderr, process.stderr]])) {
    source.setEncoding('utf8')
    source.on('data', chunk => {
      output += chunk
      target.write(chunk)
    })
  }
  const end = () => {
    try {
      if (child.pid !== undefined) process.kill(windows ? child.pid : -child.pid, 'SIGKILL')
    } catch {
      // It has ended by itself in the meantime.
    }
  }
  const interrupt = () => {
    end()
    process.exit(130)
  }
  for (const signal of SIGNALS) process.on(signal, interrupt)
  const timer = deadline === undefined ? undefined : setTimeout(end, Math.max(0, deadline - started))
  const reason = await new Promise(resolve => {
    child.on('error', error => resolve(error.message))
    child.on('close', (code, signal) => resolve(code === 0 ? '' : signal === null ? `exit code ${code}` : `ended by ${signal}`))
  })
  clearTimeout(timer)
  for (const signal of SIGNALS) process.off(signal, interrupt)
  const seconds = ((performance.now() - started) / 1_000).toFixed(1)
  console.log(`=== ${title}: ${reason === '' ? 'passed' : `FAILED, ${reason}`} after ${seconds} s`)
  return { passed: reason === '', output }
}
