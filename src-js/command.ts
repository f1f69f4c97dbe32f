/**
 * `/instructions`: the inspection, for the person in front of a session. It is mounted where the host has a command
 * registry, answers through that registry alone, and so never enters the model's context.
 *
 * @module @deepseek-ai/dsh-agent-instructions/command
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { messagesOf, noteOf, sumsOf, usageOf } from './cli-table.ts'
import type { Config } from './config.ts'
import type { InstructionFs } from './provider-calls.ts'
import { inspectAgentInstructions } from './inspect.ts'
import type { InspectedInstruction, InstructionInspection } from './inspect.ts'
import { reasonOf } from './reason.ts'

/** What a command came to, as dsh-commands has it. */
type CommandResult = { readonly kind: 'success', readonly text: string } | { readonly kind: 'error', readonly text: string }

/** One use of the command. */
interface CommandInvocation {
  readonly agent: Agent
  /** Everything behind the command's name. */
  readonly rawInput: string
  readonly signal: AbortSignal
}

/** The part of dsh-commands that is used: by its shape, since most hosts of this plugin do not have it. */
interface CommandRegistry {
  register(definition: {
    readonly name: string
    readonly description: string
    readonly input: { readonly hint: string }
    readonly handler: (invocation: CommandInvocation) => Promise<CommandResult>
  }): () => void
}

/**
 * Offer `/instructions` for as long as the host has a command registry.
 * @param ctx - the plugin's context; `fs` is looked up at each use.
 * @param config - the plugin's options.
 */
export function mountCommand(ctx: Context, config: Config): void {
  void ctx.inject(['commands'], inner => {
    try {
      (inner as unknown as { commands: CommandRegistry }).commands.register({
        name: 'instructions',
        description: 'Show which instruction files apply here, and why others do not',
        input: { hint: '[file: also what touching it would load]' },
        handler: invocation => answer(ctx, config, invocation),
      })
    } catch (error) {
      // Somebody else's command of this name stands; loading instructions does not depend on ours.
      ctx.logger.warn(`/instructions is not available: ${reasonOf(error)}`)
    }
  })
}

async function answer(ctx: Context, config: Config, { agent, rawInput, signal }: CommandInvocation): Promise<CommandResult> {
  const fs = ctx.get('fs') as InstructionFs | undefined
  if (fs === undefined) return { kind: 'error', text: 'The host has no file system mounted: no instructions are loaded.' }
  const touch = rawInput.trim()
  try {
    const inspection = await inspectAgentInstructions({
      ...config,
      cwd: agent.session.header.cwd ?? process.cwd(),
      signal,
      ...(touch === '' ? {} : { touch }),
    }, fs)
    return { kind: 'success', text: describe(inspection) }
  } catch (error) {
    return { kind: 'error', text: `The instructions could not be inspected: ${reasonOf(error)}` }
  }
}

function describe(inspection: InstructionInspection): string {
  const { files, maxBytes, touch } = inspection
  const listed = files.filter(({ state, reason }) => state !== 'absent' || reason !== undefined)
  const linesOf = (message: InspectedInstruction['message']) =>
    listed.filter(file => file.message === message).map(file => lineOf(file, inspection))
  const touched = linesOf('touch')
  const heading = { baseline: 'The message for this directory', touch: 'The message for the touched file' }
  return [
    `Instruction files for work in ${inspection.cwd} (project root ${inspection.projectRoot}):`,
    ...linesOf('baseline'),
    ...(touch === undefined ? [] : [`Touching ${touch} adds${touched.length > 0 ? ':' : ' nothing.'}`, ...touched]),
    `${sumsOf(inspection)}.`,
    ...messagesOf(inspection).map(message => `${heading[message.name]} takes ${usageOf(message, maxBytes)}.`),
  ].join('\n')
}

function lineOf(file: InspectedInstruction, inspection: InstructionInspection): string {
  const bytes = file.bytes === undefined ? '' : `, ${file.bytes.toLocaleString('en-US')} bytes`
  const note = noteOf(file, inspection)
  return `- ${file.state}: ${file.displayPath}${bytes}${note === '' ? '' : ` (${note})`}`
}
