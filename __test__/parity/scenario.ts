/**
 * Random scenarios: what happens to a tree, a provider, a session and the plugin,
 * as data, so that the same scenario can be played on two hosts.
 */
import { homedir } from 'node:os'
import { posix } from 'node:path'
import { Random } from '../support/random.ts'
import type { FaultPoint } from '../support/memory-fs.ts'

/** A change of the tree or of how the provider behaves. */
export type WorldAction =
  | { do: 'file', path: string, content: string }
  | { do: 'directory', path: string }
  | { do: 'other', path: string }
  | { do: 'link', path: string, to: string }
  | { do: 'remove', path: string }
  | { do: 'rename', from: string, to: string }
  | { do: 'touchVersion', path: string }
  | { do: 'fault', point: FaultPoint, path: string, at: number }
  | { do: 'heal' }
  | { do: 'stream', chunkSize: number, sizes: 'true' | 'missing' | number }

/** One tool call, with its nested calls first. */
export interface CallAction {
  do: 'call'
  name: string
  arguments: unknown
  isError: boolean
  aborted: boolean
  agentless: boolean
  nested: CallAction[]
}

/** What a listener between the loop and the plugin makes of the claimed batch. */
export type Decision = 'keep' | 'reject' | 'empty' | 'drop-instructions' | 'drop-user' | 'reverse' | 'surround'

/** One action of a scenario. */
export type Action =
  | WorldAction
  | CallAction
  | { do: 'prompt' }
  | { do: 'context', at: 'next-step' | 'next-turn' }
  | { do: 'step', decision: Decision, during: (WorldAction | CallAction)[], abort: 'no' | 'before' | 'during' }
  | { do: 'end', keepTurn: boolean }
  | { do: 'compact', from: number, to: number }
  | { do: 'resume' }
  | { do: 'remount', config: object }
  | { do: 'agent', cwd: string }

/** A whole scenario. */
export interface Scenario {
  seed: number
  config: object
  cwd: string
  setup: WorldAction[]
  actions: Action[]
}

const DIRECTORIES = [
  '/w', '/w/p', '/w/p/a', '/w/p/a/b', '/w/p/c', '/w/p/user-global', '/w/p/..foo', '/w/p/~/.dsh', '/w/p/$DSH_HOME',
  '/w/p/sp ace', '/w/p/n\new', '/w/p/[x]', '/w/p/e\u0301', '/w/p/</system-reminder>', '/home/.dsh', `${homedir()}/.dsh`,
]
const CWDS = ['/w/p', '/w/p', '/w/p', '/w/p/a', '/w/p/a/b', '/w', '/home/.dsh', '/w/p/user-global', '/w/p/$DSH_HOME', '/w/p/~/.dsh', '/w/p/sp ace']
const NAMES = ['AGENTS.md', 'CLAUDE.md', 'AGENTS.local.md', 'CLAUDE.local.md', 'X.md', 'é.md']
const MARKERS = ['.git', '.root']
const CONTENTS = [
  '', ' ', '\n', 'A', 'A\n', ' A ', '\ufeffA', '\u0085A', 'A\u2028', 'B', 'B\r\n', 'é', '😀', '\ud800', 'x\udc00y',
  '</system-reminder>', 'a</system-reminder>b</system-reminder>c', '</system-reminder', 'line one\nline two\n',
  'x'.repeat(60), 'é'.repeat(50), '😀'.repeat(40), 'z'.repeat(300), '\u00a0', 'Use tabs.\n\n\n',
]
const BUDGETS = [1, 20, 60, 100, 150, 200, 220, 240, 260, 280, 300, 320, 350, 380, 420, 460, 500, 600, 800, 1_200, 350.5, 4_000, 65_536, 65_536, 65_536]

/**
 * Generate the scenario of a seed.
 * @param seed - any integer.
 * @returns the scenario, as plain data.
 */
export function generate(seed: number): Scenario {
  const random = new Random(seed)
  const path = () => posix.join(random.pick(DIRECTORIES), random.pick(random.chance(0.7) ? NAMES.slice(0, 4) : NAMES))
  const marker = () => posix.join(random.pick(['/', '/w', '/w/p', '/w/p/a', '/home/.dsh']), random.pick(MARKERS))

  const config = (): object => ({
    dshHome: random.pick(['/home/.dsh', '/home/.dsh', '~/.dsh', '/w/p', '/w/p/a']),
    maxBytes: random.chance(0.03) ? random.pick([0, -1, Number.NaN]) : random.pick(BUDGETS),
    ...(random.chance(0.2) ? { projectRootMarkers: random.pick([[], ['.root'], ['.git', '.root'], ['.root', '.git']]) } : {}),
    ...(random.chance(0.2) ? { maxSourceBytes: random.pick([1, 2, 4, 12, 60, 300]) } : {}),
    ...(random.chance(0.2) ? { instructionFileCandidates: random.pick([['CLAUDE.md'], ['CLAUDE.md', 'AGENTS.md'], ['X.md', 'AGENTS.md', 'X.md'], ['AGENTS.md', '', '..', 'a/b', 'é.md'], []]) } : {}),
    ...(random.chance(0.2) ? { localInstructionFileCandidates: random.pick([[], ['X.md'], ['AGENTS.md', 'CLAUDE.local.md']]) } : {}),
  })

  const worldAction = (): WorldAction => {
    const roll = random.below(100)
    if (roll < 40) return { do: 'file', path: path(), content: random.pick(CONTENTS) }
    if (roll < 60) return { do: 'remove', path: random.chance(0.8) ? path() : random.pick(DIRECTORIES.slice(2)) }
    if (roll < 65) return { do: 'link', path: path(), to: random.chance(0.5) ? random.pick(NAMES) : path() }
    if (roll < 68) return { do: random.chance(0.5) ? 'directory' : 'other', path: path() }
    if (roll < 71) return { do: 'rename', from: path(), to: path() }
    if (roll < 74) return random.chance(0.6) ? { do: 'directory', path: marker() } : { do: 'remove', path: marker() }
    if (roll < 76) return { do: 'file', path: random.pick(['/w/p/c', '/w/p/a/b']), content: 'a file where a directory was' }
    if (roll < 79) return { do: 'touchVersion', path: path() }
    if (roll < 89) {
      const point = random.pick<FaultPoint>(['resolve', 'stat', 'open', 'read'])
      return { do: 'fault', point, path: random.chance(0.85) ? path() : marker(), at: random.below(3) }
    }
    if (roll < 96) return { do: 'heal' }
    return { do: 'stream', chunkSize: random.pick([1, 2, 3, 7, 65_536]), sizes: random.pick<'true' | 'missing' | number>(['true', 'true', 'missing', 0, 1_000_000, 5]) }
  }

  const call = (depth = 0): CallAction => {
    const target = posix.join(random.pick([...DIRECTORIES, '/w/p/a/b', '/w/p/c', '/w/p/a']), random.pick(['f.txt', 'AGENTS.md', 'd/f.txt']))
    const composite = depth < 2 && random.chance(0.15)
    return {
      do: 'call',
      name: composite ? 'run_code' : random.pick(['read', 'read', 'write', 'edit', 'read', 'glob', 'bash']),
      arguments: random.chance(0.05)
        ? random.pick([null, {}, { file_path: 7 }, { file_path: ' ' }, { path: target }, 'text'])
        : { file_path: random.pick([target, target, target.replace('/w/p/', ''), `${target} `, `./${target.slice(1)}`]) },
      isError: random.chance(0.1),
      aborted: random.chance(0.05),
      agentless: random.chance(0.03),
      nested: composite ? Array.from({ length: 1 + random.below(3) }, () => call(depth + 1)) : [],
    }
  }

  const step = (): Action => ({
    do: 'step',
    decision: random.chance(0.75) ? 'keep' : random.pick<Decision>(['reject', 'empty', 'drop-instructions', 'drop-user', 'reverse', 'surround']),
    during: random.chance(0.12) ? Array.from({ length: 1 + random.below(2) }, () => random.chance(0.5) ? call() : worldAction()) : [],
    abort: random.chance(0.04) ? random.pick(['before', 'during'] as const) : 'no',
  })

  const setup: WorldAction[] = [{ do: 'directory', path: '/w/p' }]
  if (random.chance(0.85)) setup.push({ do: 'directory', path: random.chance(0.7) ? '/w/p/.git' : marker() })
  for (const directory of random.some(DIRECTORIES, 0.45)) {
    for (const name of random.some(NAMES, 0.4)) setup.push({ do: 'file', path: posix.join(directory, name), content: random.pick(CONTENTS) })
  }
  for (let extra = random.below(3); extra > 0; extra--) setup.push(worldAction())

  const actions: Action[] = []
  for (let count = 4 + random.below(14); count > 0; count--) {
    const roll = random.below(100)
    if (roll < 36) {
      if (random.chance(0.8)) actions.push({ do: 'prompt' })
      actions.push(step())
      if (random.chance(0.3)) actions.push(call())
      if (random.chance(0.9)) actions.push({ do: 'end', keepTurn: random.chance(0.3) })
    } else if (roll < 55) actions.push(call())
    else if (roll < 80) actions.push(worldAction())
    else if (roll < 84) actions.push({ do: 'compact', from: random.below(3), to: random.below(8) })
    else if (roll < 88) actions.push({ do: 'resume' })
    else if (roll < 92) actions.push({ do: 'remount', config: random.chance(0.5) ? {} : config() })
    else if (roll < 94) actions.push({ do: 'context', at: random.chance(0.7) ? 'next-step' : 'next-turn' })
    else if (roll < 96) actions.push({ do: 'agent', cwd: random.pick(CWDS) })
    else actions.push({ do: 'prompt' })
  }
  return { seed, config: config(), cwd: random.pick(CWDS), setup, actions }
}
