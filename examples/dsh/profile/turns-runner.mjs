// The headless profile runs one task in one fresh session. This plugin takes the place
// of its runner where a script needs more: several turns in one session, or a session
// that an earlier process left on the disk. Everything else of the profile stays.
import { createUserMessage } from '@deepseek-ai/dsh-llm'

export const name = 'demo-turns-runner'

export const inject = ['agentDefaultModel', 'agents', 'sessions', 'sessionPersistence']

/**
 * Run the configured turns one after the other, then end the process.
 * @param {import('@deepseek-ai/cordis').Context} ctx - the harness's context.
 * @param {{ turns: string[], session: string, isResumed: boolean }} config - what to submit, and in which session.
 */
export function apply(ctx, config) {
  const exit = ctx.get('appExit')
  runTurns(ctx, config).then(
    (succeeded) => exit(succeeded ? 0 : 1),
    (error) => {
      process.stderr.write(`${error?.message ?? error}\n`)
      exit(1)
    },
  )
}

async function runTurns(ctx, { turns, session, isResumed }) {
  await ctx.get('loader')?.await()
  const { provider, model } = ctx.agentDefaultModel.currentSelection()
  const agentOptions = { provider, model }
  const { agent } = isResumed
    ? await ctx.agents.resume({ resumeSessionId: session, agentOptions })
    : await ctx.agents.create({ sessionId: session, meta: { cwd: process.cwd() }, agentOptions })
  let outcome
  for (const text of turns) {
    await agent.whenIdle()
    const first = agent.session.seq
    agent.followup(createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } }))
    await agent.whenIdle()
    await ctx.sessions.flush(agent.session)
    for (const event of agent.session.events) {
      if (event.seq < first) continue
      if (event.type === 'turn/end') outcome = event.data.reason.kind
      if (event.type !== 'assistant/message') continue
      for (const block of event.data.message.content) {
        if (block.type === 'text') process.stdout.write(`${block.text}\n`)
      }
    }
  }
  return outcome === 'completed'
}
