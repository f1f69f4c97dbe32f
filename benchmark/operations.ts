/**
 * Provider operations over random projects: whatever a project looks like, no step
 * and no touch may ask the provider more often than the published package does.
 * Nothing here depends on the machine.
 */
import { dirname, join } from 'node:path'
import { Random } from '../__test__/support/random.ts'
import type { LayoutFactory } from './layouts.ts'
import { plugins, Stage } from './stage.ts'
import type { SideName } from './stage.ts'
import { memoryTree } from './trees.ts'

/** One phase of a session, over all projects. */
export interface Operations {
  readonly phase: string
  readonly published: number
  readonly ours: number
  /** Projects in which this package asked more. */
  readonly more: number
  /** The worst of them, to be looked into. */
  readonly worst?: { readonly project: string, readonly published: number, readonly ours: number }
}

const NAMES = ['AGENTS.md', 'CLAUDE.md', 'AGENTS.local.md', 'CLAUDE.local.md']
/** How likely each name is to be in a directory. */
const HABITS = [[1, 0, 0, 0], [1, 0.3, 0.1, 0], [0.7, 0.5, 0.3, 0.3], [1, 1, 1, 1], [0.3, 0.1, 0, 0], [0, 0, 0, 0], [0.5, 0.5, 1, 0]]
const MARKER_IS_THERE = 0.85

interface Project {
  readonly description: string
  readonly cwd: string
  readonly edited: string
  readonly layout: LayoutFactory
}

function project(seed: number): Project {
  const random = new Random(seed)
  const [above, depth] = [random.below(4), random.below(6)]
  const marker = random.chance(MARKER_IS_THERE) ? random.below(depth + 1) : undefined
  const habit = random.pick(HABITS)
  const global = random.chance(0.7)
  const chain = [join('/bench', ...Array.from({ length: above }, (_, index) => `above-${index}`), 'project')]
  for (let level = 1; level <= depth; level++) chain.push(join(chain.at(-1) as string, `level-${level}`))
  const cwd = chain.at(-1) as string
  const directories = [...chain, join(cwd, 'a'), join(cwd, 'a', 'b')]
  const files = directories.flatMap(directory => NAMES.filter((_, index) => random.chance(habit[index] as number)).map(name => join(directory, name)))
  return {
    description: `seed ${seed}: depth ${depth}, ${above} directories above, marker ${marker === undefined ? 'nowhere' : `at level ${marker}`}, files ${habit.join('/')}${global ? ', a user-global file' : ''}`,
    cwd,
    edited: files.find(file => dirname(file) === cwd) ?? join(cwd, 'AGENTS.md'),
    layout: tree => {
      for (const directory of directories) tree.directory(directory)
      if (marker !== undefined) tree.directory(join(chain[marker] as string, '.git'))
      if (global) tree.write('/bench/home/.dsh/AGENTS.md', 'rule: global')
      for (const file of files) tree.write(file, `rule: ${file}`)
      return { cwd, config: { dshHome: '/bench/home/.dsh', maxBytes: 65_536 }, says: [], touchable: [] }
    },
  }
}

async function count(side: SideName, { cwd, edited, layout }: Project): Promise<Map<string, number>> {
  const stage = await Stage.open(plugins[side], memoryTree(), layout)
  const counts = new Map<string, number>()
  const agent = stage.agent()
  const phase = async (name: string, work: () => unknown) => {
    stage.tree.log.length = 0
    await work()
    await stage.quiet(1)
    counts.set(name, stage.tree.log.length)
  }
  const step = async (on = agent) => {
    if (on.turnOpen) on.endStep(true)
    else on.prompt('go on')
    on.enter(await on.preStep())
  }
  const touch = (path: string) => agent.toolResult({ name: 'read', arguments: { file_path: join(cwd, path) } })
  await phase('cold start', () => step())
  await phase('the step after', () => step())
  await phase('warm step', () => step())
  agent.endStep()
  await phase('touch in a new directory', () => touch('a/b/file'))
  await phase('step after a touch', () => step())
  await phase('warm step after a touch', () => step())
  agent.endStep()
  await phase('touch in a known directory', () => touch('a/b/file'))
  await phase('touch in the working directory', () => touch('file'))
  stage.tree.write(edited, 'rule: edited')
  await phase('step after an edit', () => step())
  await phase('warm step after an edit', () => step())
  agent.endStep()
  const resumed = stage.agent(agent.session.events)
  resumed.turn = agent.turn
  await phase('step of a resumed session', () => step(resumed))
  await phase('warm step of a resumed session', () => step(resumed))
  await stage.close()
  return counts
}

/**
 * Count over random projects.
 * @param projects - how many.
 * @returns one line for each phase of a session.
 */
export async function countOperations(projects: number): Promise<Operations[]> {
  const phases = new Map<string, Operations>()
  for (let seed = 1; seed <= projects; seed++) {
    const drawn = project(seed)
    const [published, ours] = [await count('published', drawn), await count('ours', drawn)]
    for (const [phase, theirs] of published) {
      const own = ours.get(phase) as number
      const before = phases.get(phase) ?? { phase, published: 0, ours: 0, more: 0 }
      const worse = own > theirs && own - theirs > (before.worst === undefined ? 0 : before.worst.ours - before.worst.published)
      phases.set(phase, {
        ...before,
        published: before.published + theirs,
        ours: before.ours + own,
        more: before.more + Number(own > theirs),
        ...(worse ? { worst: { project: drawn.description, published: theirs, ours: own } } : {}),
      })
    }
  }
  return [...phases.values()]
}
