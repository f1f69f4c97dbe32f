/** Properties of the TypeScript face: placing messages, accounting for nested calls, following a log. */
import { isDeepStrictEqual } from 'node:util'
import { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import SessionStore from '@deepseek-ai/dsh-session'
import type { Session, SessionEvent, SessionId, UserMessage } from '@deepseek-ai/dsh-session'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SessionHistory } from '../src-js/history.ts'
import { foldAfterClaimed, instructionMessage, isInstructionMessage, pendingInstructions, sameInstructions } from '../src-js/messages.ts'
import type { InstructionMessage } from '../src-js/messages.ts'
import type { NativeMessage } from '../src-js/native.ts'
import { reasonOf } from '../src-js/reason.ts'
import { TouchLedger } from '../src-js/touches.ts'

const RUNS = { numRuns: 400 }
const text = fc.string({ unit: fc.oneof(fc.constantFrom('\ud800', '\udc00', '\0', '"', '\u2028'), fc.string({ minLength: 1, maxLength: 1 })), maxLength: 6 })

const native: fc.Arbitrary<NativeMessage> = fc.record({
  blocks: fc.array(text, { minLength: 1, maxLength: 3 }),
  baselineIdentity: text,
  changes: fc.array(fc.record({
    action: fc.constantFrom('set', 'replace', 'remove'),
    scope: text,
    path: text,
    digest: text,
  }, { requiredKeys: ['action', 'scope', 'path'] }), { maxLength: 3 }),
}, { requiredKeys: ['blocks', 'changes'] })

const note = (content: string) => createUserMessage({ content: [{ type: 'text', text: content }], source: { kind: 'plugin', plugin: 'neighbour' } })
const sample = (content: string) => instructionMessage({ blocks: [content], changes: [] })
const shuffled = <T>(items: T[]) => fc.shuffledSubarray(items, { minLength: items.length })

describe('a reason', () => {
  it('is put into words whatever was thrown', () => {
    const revoked = Proxy.revocable({}, {})
    revoked.revoke()
    const speechless = [Object.create(null) as unknown, revoked.proxy, Object.defineProperty(new Error(), 'message', { get() { throw new Error('fault') } })]
    for (const thrown of speechless) expect(reasonOf(thrown)).toBe('the provider failed and cannot say how')
    expect(reasonOf(new Error('no room'))).toBe('no room')
    expect(reasonOf(Symbol('s'))).toBe('Symbol(s)')
    fc.assert(fc.property(fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true }), thrown => {
      expect(typeof reasonOf(thrown)).toBe('string')
    }), RUNS)
  })
})

describe('an instruction message', () => {
  it('holds what the core called for, keys in the order of the durable format', () => {
    fc.assert(fc.property(native, called => {
      const { content, source } = instructionMessage(called)
      expect(content.map(block => block.type === 'text' ? block.text : undefined)).toEqual(called.blocks)
      const ordered = called.changes.map(({ action, scope, path, digest }) => ({ action, scope, path, ...(digest === undefined ? {} : { digest }) }))
      expect(JSON.stringify(source)).toBe(JSON.stringify({
        kind: 'agent-instructions',
        form: 'instructions',
        ...(called.baselineIdentity === undefined ? {} : { baseline: true, baselineIdentity: called.baselineIdentity }),
        changes: ordered,
      }))
    }), RUNS)
  })

  it('is the same as another exactly when nothing but the identity differs', () => {
    // Few values, so that equal pairs are common.
    const small = fc.record({
      blocks: fc.array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 2 }),
      baselineIdentity: fc.constantFrom('{}', '{"cwd":"/"}'),
      changes: fc.array(fc.record({ action: fc.constantFrom('set', 'remove'), scope: fc.constant('.\0A'), path: fc.constantFrom('A', 'B'), digest: fc.constant('0') }, { requiredKeys: ['action', 'scope', 'path'] }), { maxLength: 1 }),
    }, { requiredKeys: ['blocks', 'changes'] })
    fc.assert(fc.property(fc.oneof(small, native), fc.oneof(small, native), (one, other) => {
      const [left, right] = [instructionMessage(one), instructionMessage(other)]
      expect(left.id).not.toBe(instructionMessage(one).id)
      expect(sameInstructions(left, instructionMessage(one))).toBe(true)
      expect(sameInstructions(left, right)).toBe(isDeepStrictEqual([left.content, left.source], [right.content, right.source]))
      expect(sameInstructions(right, left)).toBe(sameInstructions(left, right))
    }), { numRuns: 2_000 })
  })

  it('is found in the inbox wherever it waits', () => {
    const queue = fc.array(fc.boolean().map(own => own ? sample('x') : note('y')), { maxLength: 4 })
    fc.assert(fc.property(queue, queue, (nextStep, nextTurn) => {
      const found = pendingInstructions({ inbox: { nextStep, nextTurn } } as unknown as Agent)
      expect(found).toBe([...nextStep, ...nextTurn].filter(isInstructionMessage)[0])
    }), RUNS)
  })

  it('is put in once, after the last claimed message, and moves nothing', () => {
    const messages = fc.tuple(fc.nat(4), fc.nat(4)).chain(([mine, others]) => {
      const claimed = Array.from({ length: mine }, (_, index) => note(`claimed ${index}`))
      const foreign = Array.from({ length: others }, (_, index) => note(`other ${index}`))
      return fc.record({ claimed: fc.constant(claimed), entering: fc.subarray([...claimed, ...foreign]).chain(shuffled), fresh: fc.boolean() })
    })
    fc.assert(fc.property(messages, ({ claimed, entering, fresh }) => {
      const message = sample('new')
      // A listener may enter copies: it is the identity that counts.
      const batch = Object.freeze(fresh ? entering.map(entered => ({ ...entered })) : entering)
      const folded = foldAfterClaimed(batch, Object.freeze(claimed), message)
      expect(folded.filter(other => other !== message)).toEqual(batch)
      const at = folded.indexOf(message)
      expect(folded.lastIndexOf(message)).toBe(at)
      const isClaimed = (other: UserMessage) => claimed.some(({ id }) => id === other.id)
      expect(folded.slice(at + 1).some(isClaimed)).toBe(false)
      expect(at === 0 || isClaimed(folded[at - 1] as UserMessage)).toBe(true)
    }), { numRuns: 1_000 })
  })
})

/** One call of a tree; its calls ran inside it. */
interface Call {
  name: string
  arguments: unknown
  agent: Agent | undefined
  isError: boolean
  aborted: boolean
  calls: Call[]
}

describe('the touches of nested calls', () => {
  const agents = ['one', 'other'].map(id => ({ id }) as unknown as Agent)
  const { tree } = fc.letrec<{ tree: Call }>(tie => ({
    tree: fc.record({
      name: fc.constantFrom('read', 'read', 'write', 'edit', 'run_code', 'glob', 'constructor'),
      arguments: fc.oneof({ weight: 6, arbitrary: fc.constantFrom('/a', '/b ', ' c').map(path => ({ file_path: path })) }, fc.constantFrom<unknown>(null, undefined, 7, {}, { file_path: 7 }, { file_path: ' ' }, 'x')),
      agent: fc.constantFrom(...agents, undefined),
      isError: fc.boolean(),
      aborted: fc.integer({ min: 0, max: 5 }).map(roll => roll === 0),
      calls: fc.oneof({ maxDepth: 3 }, fc.constant<Call[]>([]), fc.array(tie('tree'), { maxLength: 3 })),
    }),
  }))

  /** What one call touches by itself. */
  function own({ name, arguments: given, agent, isError, aborted }: Call) {
    const path = (given as { file_path?: unknown } | null | undefined)?.file_path
    const counts = ['read', 'write', 'edit'].includes(name) && agent !== undefined && !isError && !aborted
    return counts && typeof path === 'string' && path.trim() !== '' ? [{ agent, path: path.trim() }] : []
  }

  it('are told once, to whom they belong, when the outermost call settles', () => {
    fc.assert(fc.property(fc.array(tree, { minLength: 1, maxLength: 3 }), fc.array(fc.nat(), { minLength: 1, maxLength: 30 }), (roots, order) => {
      const ledger = new TouchLedger()
      const tokens = new Map<Call, object>()
      const parents = new Map<Call, Call>()
      const settled = new Map<Call, ReturnType<typeof own>>()
      const all: Call[] = []
      const collect = (call: Call, parent?: Call): void => {
        // fast-check may hand out one value twice.
        const copy = { ...call, calls: [] as Call[] }
        all.push(copy)
        tokens.set(copy, Object.freeze({}))
        if (parent !== undefined) {
          parents.set(copy, parent)
          parent.calls.push(copy)
        }
        for (const inner of call.calls) collect(inner, copy)
      }
      for (const root of roots) collect(root)
      for (let turn = 0; settled.size < all.length; turn++) {
        const ready = all.filter(call => !settled.has(call) && call.calls.every(inner => settled.has(inner)))
        const call = ready[(order[turn % order.length] as number) % ready.length] as Call
        const parent = parents.get(call)
        const controller = new AbortController()
        if (call.aborted) controller.abort()
        const told = ledger.settle({
          name: call.name,
          arguments: call.arguments,
          ...(call.agent === undefined ? {} : { agent: call.agent }),
          ...(parent === undefined ? {} : { parent: tokens.get(parent) }),
          token: tokens.get(call),
          signal: controller.signal,
        } as never, { isError: call.isError } as never)
        // In the order of settling, what is inside before what is around it.
        const inside = [...settled].filter(([inner]) => parents.get(inner) === call).flatMap(([, touches]) => touches)
        settled.set(call, [...inside, ...own(call)])
        expect(told).toEqual(parent === undefined ? settled.get(call) : [])
      }
      for (const call of all) expect(ledger.settle({ ...call, name: 'glob', token: tokens.get(call), signal: AbortSignal.abort() } as never, {} as never)).toEqual([])
    }), RUNS)
  })
})

describe('the history of a session', () => {
  const ctx = new Context()
  let sessions = 0
  beforeAll(async () => { await ctx.plugin(SessionStore as never, {} as never) })
  afterAll(async () => { await (ctx as unknown as { fiber: { dispose(): Promise<void> } }).fiber.dispose() })

  type Action = { do: 'say', own: boolean } | { do: 'replace', own: boolean, from: number, to: number } | { do: 'boundary', type: 'turn/start' | 'turn/end' | 'step/start' | 'step/end' } | { do: 'ask' } | { do: 'miss', count: number }
  const action: fc.Arbitrary<Action> = fc.oneof(
    { weight: 5, arbitrary: fc.record({ do: fc.constant('say' as const), own: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('replace' as const), own: fc.boolean(), from: fc.nat(), to: fc.nat() }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('boundary' as const), type: fc.constantFrom('turn/start' as const, 'turn/end' as const, 'step/start' as const, 'step/end' as const) }) },
    { weight: 2, arbitrary: fc.constant({ do: 'ask' as const }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('miss' as const), count: fc.nat(4) }) },
  )

  function play(session: Session, actions: readonly Action[], follow: (event: SessionEvent) => void, ask: () => void): void {
    let missing = 0
    for (const [index, step] of actions.entries()) {
      const before = session.seq
      if (step.do === 'ask') ask()
      else if (step.do === 'miss') missing = step.count
      else if (step.do === 'boundary') session.append(step.type, { turn: 1, step: 1, reason: { kind: 'completed' } } as never)
      else {
        const nodes = [...session.surface.nodes]
        const message = step.own ? sample(`instructions ${index}`) : note(`note ${index}`)
        if (step.do === 'say') session.append('user/message', message, { surfaceOp: 'append' })
        else if (nodes.length > 0) {
          const [start, end] = [step.from % nodes.length, step.to % nodes.length].sort((left, right) => left - right) as [number, number]
          session.append('user/message', message, {
            surfaceOp: { op: 'replace', start: nodes[start] as number, end: nodes[end] as number },
            sourceEventSeqs: nodes.slice(start, end + 1),
          })
        }
      }
      for (let seq = before; seq < session.seq; seq++) {
        if (missing > 0) missing--
        else follow(session.events[seq] as SessionEvent)
      }
    }
  }

  /** What a walk of the whole log finds. */
  function walk(session: Session): { visible: InstructionMessage[], open: boolean } {
    const { events } = session
    const boundary = events.findLast(({ type }) => ['step/start', 'step/end', 'turn/end'].includes(type))
    const messages = session.surface.nodes.map(seq => events[seq]?.data as UserMessage)
    return { visible: messages.filter(isInstructionMessage), open: boundary?.type === 'step/start' }
  }

  it.each(['events', 'eventAt'])('is the same whether followed, followed in part, or walked (a host with %s)', reader => {
    fc.assert(fc.property(fc.array(action, { maxLength: 40 }), fc.boolean(), (actions, early) => {
      const session = ctx.sessions.create(`face-${++sessions}` as SessionId, { meta: {} })
      const seen = reader === 'events' ? session : laterHost(session)
      if (!early) play(session, actions.slice(0, 10), () => {}, () => {})
      const history = new SessionHistory(seen)
      let list: readonly InstructionMessage[] = []
      let last: readonly InstructionMessage[] = []
      const ask = () => {
        const { visible, open } = walk(session)
        expect(history.inStep()).toBe(open)
        expect(history.visible()).toEqual(visible)
        // Whoever has taken note of the same list and its length has missed nothing but what follows.
        if (history.visible() === list) expect(visible.slice(0, last.length)).toEqual(last)
        ;[list, last] = [history.visible(), visible]
        expect(new SessionHistory(seen).visible()).toEqual(visible)
      }
      play(session, early ? actions : actions.slice(10), event => history.follow(event), ask)
      ask()
    }), RUNS)
  })

  /** The event access of hosts from 0.1.2 on. */
  function laterHost(session: Session): Session {
    return {
      get surface() { return session.surface },
      get seq() { return session.seq },
      eventAt: (seq: number) => session.events[seq],
    } as unknown as Session
  }
})
