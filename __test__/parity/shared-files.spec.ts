/**
 * One file that two scopes reach, on the published package and on ours: the harness home has
 * become the project root, or a directory spells the reserved scope `user-global` below it.
 */
import { describe, expect, it } from 'vitest'
import { compareScenario } from './compare.ts'
import type { Action, Scenario, WorldAction } from './scenario.ts'

const HOME = '/home/.dsh'
const ROOT = '/w/p'
const prompt: Action = { do: 'prompt' }
const end: Action = { do: 'end', keepTurn: false }
const step: Action[] = [prompt, { do: 'step', decision: 'keep', during: [], abort: 'no' }, end]
const homeAt = (dshHome: string): Action => ({ do: 'remount', config: { dshHome } })
const file = (name: string, content: string): WorldAction => ({ do: 'file', path: `${ROOT}/${name}`, content })
const remove = (name: string): WorldAction => ({ do: 'remove', path: `${ROOT}/${name}` })
const fault = (point: 'resolve' | 'stat' | 'open' | 'read', name: string): WorldAction => ({ do: 'fault', point, path: `${ROOT}/${name}`, at: 0 })
const touch = (path: string): Action => ({
  do: 'call', name: 'read', arguments: { file_path: path }, isError: false, aborted: false, agentless: false, nested: [],
})

/** What may happen to `shared`, the file that two scopes reach, and to `other`, which one scope reaches. */
function changes(shared: string, other: string): Record<string, WorldAction[]> {
  return {
    'nothing happens': [],
    'it goes': [remove(shared)],
    'it goes while another is edited': [remove(shared), file(other, 'edited')],
    'it cannot be resolved while another is edited': [fault('resolve', shared), file(other, 'edited')],
    'it cannot be described while another is edited': [fault('stat', shared), file(other, 'edited')],
    'it cannot be read and both are edited': [fault('read', shared), file(shared, 'unread'), file(other, 'edited')],
    'it is edited': [file(shared, 'edited')],
    'another comes to say the same': [file(other, 'shared')],
    'it becomes a directory': [remove(shared), { do: 'directory', path: `${ROOT}/${shared}` }],
    'it becomes a link to another': [remove(shared), { do: 'link', path: `${ROOT}/${shared}`, to: other }],
    'it outgrows its cap': [file(shared, 'x'.repeat(2_000))],
  }
}

interface Case {
  readonly cwd: string
  readonly dshHome: string
  readonly shared: string
  readonly other: string
  readonly setup: WorldAction[]
  /** How it came to what the model sees. */
  readonly before: Record<string, Action[]>
}

const files = [file('AGENTS.md', 'shared'), file('CLAUDE.md', 'other'), file('a/AGENTS.md', 'below')]
const moved = {
  'the home has moved': [...step, homeAt(ROOT)],
  'the home has moved and was looked at': [...step, homeAt(ROOT), ...step, ...step],
  'a touch came after the move': [...step, homeAt(ROOT), touch('b/file'), ...step, ...step],
  'the home has moved away': [homeAt(ROOT), ...step, homeAt(HOME), ...step, ...step],
}
const cases: Record<string, Case> = {
  'the project root as home': { cwd: ROOT, dshHome: HOME, shared: 'AGENTS.md', other: 'CLAUDE.md', setup: files, before: moved },
  'the project root as home, from below': { cwd: `${ROOT}/a`, dshHome: HOME, shared: 'AGENTS.md', other: 'CLAUDE.md', setup: files, before: moved },
  'a directory that spells the reserved scope': {
    cwd: `${ROOT}/user-global`,
    dshHome: ROOT,
    shared: 'CLAUDE.local.md',
    other: 'AGENTS.local.md',
    setup: [file('AGENTS.local.md', 'other'), file('CLAUDE.local.md', 'shared'), file('user-global/AGENTS.md', 'below')],
    before: { 'the baseline was told': step, 'both scopes were told': [...step, touch('AGENTS.md'), ...step] },
  },
}

describe.each(Object.entries(cases))('%s', (_, { cwd, dshHome, shared, other, setup, before }) => {
  const table = Object.entries(before).flatMap(([told, actions]) =>
    Object.entries(changes(shared, other)).map(([what, change]) => ({ told, what, actions: [...actions, ...change] })))
  it.each(table)('$told; $what', async ({ actions }) => {
    for (const look of [step, [touch('x/file'), ...step]]) {
      const scenario: Scenario = {
        seed: 0,
        config: { dshHome, maxBytes: 65_536, maxSourceBytes: 1_000 },
        cwd,
        setup: [{ do: 'directory', path: `${ROOT}/.git` }, ...setup],
        actions: [
          ...actions, ...look, ...step, { do: 'heal' }, ...look, file(shared, 'once more'), ...look, remove(shared), ...look,
          remove(other), ...look, { do: 'resume' }, ...look, file(shared, 'shared'), ...look,
        ],
      }
      expect(await compareScenario(scenario)).toBeUndefined()
    }
  })
})
