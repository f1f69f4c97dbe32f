/**
 * What one repetition does. A trial prepares before the clock starts, does what is
 * timed, and then proves that what had to be said was said: a side that does
 * nothing cannot look fast.
 */
import { join } from 'node:path'
import type { PreStepDecision } from '@deepseek-ai/dsh-agent'
import type { SessionEvent, UserMessage } from '@deepseek-ai/dsh-session'
import type { ScriptedAgent } from '../__test__/support/host.ts'
import { prose } from './layouts.ts'
import { isInstructions, pending } from './stage.ts'
import type { Stage } from './stage.ts'

/** One prepared repetition. */
export interface Trial {
  /** What is timed. */
  work(): Promise<unknown>
  /** Throws unless the work said what it had to. Returns what it said; both sides must say the same. */
  said(): string | Promise<string>
}

/** Repeats trials on one stage. */
export interface Subject {
  prepare(): Trial | Promise<Trial>
  /** What can be proven only once, at the end. */
  finish?(): Promise<void>
}

/** Makes a subject of a stage. */
export type SubjectFactory = (stage: Stage) => Subject | Promise<Subject>

function entered(decision: PreStepDecision | undefined): UserMessage[] {
  if (decision?.kind !== 'enter') throw new Error(`the step was not entered: ${JSON.stringify(decision)}`)
  return decision.messages
}

function baselineOf(stage: Stage, decision: PreStepDecision | undefined): string {
  const instructions = entered(decision).filter(isInstructions)
  const text = stage.spell(instructions)
  const missing = stage.layout.says.filter(line => !text.includes(line))
  if (instructions.length !== 1 || missing.length > 0) {
    throw new Error(`${instructions.length} instruction messages; missing: ${missing.join(', ')}`)
  }
  return text
}

function turnsOf(seed: readonly SessionEvent[] = []): number {
  const start = seed.findLast(event => event.type === 'turn/start')
  return start?.type === 'turn/start' ? start.data.turn : 0
}

/** An agent whose model has seen the baseline; its first step is open. */
async function started(stage: Stage, seed?: readonly SessionEvent[]): Promise<ScriptedAgent> {
  const agent = stage.agent(seed)
  agent.turn = turnsOf(seed)
  agent.prompt('begin')
  const decision = await agent.preStep()
  baselineOf(stage, decision)
  agent.enter(decision)
  return agent
}

/**
 * Sessions that start: each pre-step finds, reads and renders the whole baseline.
 * @param count - how many start at once.
 * @param mount - whether the plugin has seen sessions in the same place before, or is mounted anew for each trial.
 */
export function coldStart(count = 1, mount: 'once' | 'each time' = 'once'): SubjectFactory {
  return stage => ({
    async prepare() {
      if (mount === 'each time') await stage.remount()
      const agents = Array.from({ length: count }, () => stage.agent())
      for (const agent of agents) agent.prompt('begin')
      let decisions: PreStepDecision[] = []
      return {
        async work() {
          decisions = await Promise.all(agents.map(agent => agent.preStep()))
        },
        said() {
          const texts = new Set(decisions.map(decision => baselineOf(stage, decision)))
          if (decisions.length !== count || texts.size !== 1) throw new Error(`${decisions.length} sessions, ${texts.size} texts`)
          return [...texts].join('')
        },
      }
    },
  })
}

/**
 * Steps of a session that knows everything: each pre-step finds nothing to say.
 * @param makeSeed - makes the log that the session is resumed from; none for a fresh one.
 */
export function warmStep(makeSeed?: (cwd: string) => readonly SessionEvent[]): SubjectFactory {
  return async stage => {
    const agent = await started(stage, makeSeed?.(stage.layout.cwd))
    return {
      prepare() {
        agent.endStep(true)
        let decision: PreStepDecision | undefined
        return {
          async work() {
            decision = await agent.preStep()
          },
          said() {
            const messages = entered(decision)
            if (messages.length > 0 || pending(agent) !== undefined) throw new Error('a silent step has said something')
            agent.enter({ kind: 'enter', messages })
            return ''
          },
        }
      },
      async finish() {
        // Silence proves nothing by itself: a change must still be noticed.
        stage.tree.write(join(stage.layout.cwd, 'AGENTS.md'), prose('rule: after all', 900))
        agent.endStep(true)
        const messages = entered(await agent.preStep())
        if (!stage.spell(messages).includes('rule: after all')) throw new Error('a change on the disk went unnoticed')
      },
    }
  }
}

/**
 * Tool calls in directories that the session has not been in yet.
 * @param release - whether they arrive between turns, or inside a step whose end releases them.
 */
export function touchAll(release: 'at once' | 'by step/end'): SubjectFactory {
  return stage => ({
    async prepare() {
      const { touchable } = stage.layout
      const agent = await started(stage)
      const touch = () => {
        for (const path of touchable) agent.toolResult({ name: 'read', arguments: { file_path: path } })
      }
      if (release === 'at once') agent.endStep()
      else touch()
      await stage.quiet()
      return {
        async work() {
          const settled = stage.waiting(agent, message => message.source.changes.length === touchable.length)
          if (release === 'at once') touch()
          else agent.endStep(true)
          await settled
        },
        said() {
          const message = pending(agent)
          return message === undefined ? '' : stage.spell([message])
        },
      }
    },
  })
}

/**
 * A nested file that changes on the disk, and a tool call that touches its directory.
 * @param earlier - how often the same has happened in this session before; with 0 each repetition has a session of its own.
 */
export function editAndTouch(earlier = 0): SubjectFactory {
  return async stage => {
    const touched = stage.layout.touchable[0] as string
    let agent: ScriptedAgent
    let revision = 0
    const touch = () => agent.toolResult({ name: 'edit', arguments: { file_path: touched } })
    const edit = () => {
      const line = `rule: revision ${++revision}.`
      stage.tree.write(join(touched, '..', 'AGENTS.md'), prose(line, 800 + revision % 2))
      return line
    }
    const announced = async (action: string) => {
      const waiting = stage.waiting(agent, message => message.source.changes.some(change => change.action === action))
      touch()
      await waiting
    }
    const nextTurn = async () => {
      agent.prompt('go on')
      agent.enter(await agent.preStep())
      agent.endStep()
    }
    const begin = async () => {
      agent = await started(stage)
      agent.endStep()
      await announced('set')
      await nextTurn()
    }
    await begin()
    for (let time = 0; time < earlier; time++) {
      edit()
      await announced('replace')
      await nextTurn()
    }
    return {
      async prepare() {
        if (earlier === 0) await begin()
        const line = edit()
        await stage.quiet()
        return {
          work: () => announced('replace'),
          async said() {
            const message = pending(agent)
            const text = message === undefined ? '' : stage.spell([message])
            if (!text.includes(line)) throw new Error(`${line} was not announced`)
            await nextTurn()
            return text
          },
        }
      },
    }
  }
}
