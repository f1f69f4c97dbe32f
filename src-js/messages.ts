/**
 * Instruction messages: built, recognized, compared, and placed in a batch.
 *
 * @module @deepseek-ai/dsh-agent-instructions/messages
 */
import { isDeepStrictEqual } from 'node:util'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import type { UserMessage } from '@deepseek-ai/dsh-session'
import type { NativeMessage } from './native.ts'
import type { AgentInstructionSource } from './types.ts'

/** A user message whose source is this plugin's. */
export type InstructionMessage = UserMessage & { readonly source: AgentInstructionSource }

/**
 * Recognize this plugin's messages.
 * @param message - any user message.
 * @returns whether its source is of this plugin's kind.
 */
export function isInstructionMessage(message: UserMessage): message is InstructionMessage {
  return message.source.kind === 'agent-instructions'
}

/**
 * Build the message that a composition calls for. The key order is part of the durable format.
 * @param native - the core's blocks, identity and changes.
 * @returns a frozen message with a fresh identity.
 */
export function instructionMessage(native: NativeMessage): InstructionMessage {
  const source: AgentInstructionSource = {
    kind: 'agent-instructions',
    form: 'instructions',
    ...(native.baselineIdentity === undefined ? {} : { baseline: true, baselineIdentity: native.baselineIdentity }),
    changes: native.changes.map(({ action, scope, path, digest }) => ({
      action: action as AgentInstructionSource['changes'][number]['action'],
      scope,
      path,
      ...(digest === undefined ? {} : { digest }),
    })),
  }
  return createUserMessage({ content: native.blocks.map(text => ({ type: 'text' as const, text })), source })
}

/**
 * Compare two messages by everything but their identity.
 * @param left - one message.
 * @param right - another message.
 * @returns whether the model and the log would see no difference.
 */
export function sameInstructions(left: InstructionMessage, right: InstructionMessage): boolean {
  // Texts first: messages that differ nearly always differ there, and in length.
  return isDeepStrictEqual(left.content, right.content) && isDeepStrictEqual(left.source, right.source)
}

/**
 * Find the instruction message that waits in an agent's inbox; there is at most one.
 * @param agent - the agent whose inbox is searched.
 * @returns the waiting message, if any.
 */
export function pendingInstructions(agent: Agent): InstructionMessage | undefined {
  return agent.inbox.nextStep.find(isInstructionMessage) ?? agent.inbox.nextTurn.find(isInstructionMessage)
}

/**
 * Put a message right after the claimed ones of an entering batch, wherever a listener has moved them.
 * @param entering - the batch that enters.
 * @param claimed - the messages taken from the inbox for it.
 * @param message - the message to put in.
 * @returns a new batch.
 */
export function foldAfterClaimed(
  entering: readonly UserMessage[],
  claimed: readonly UserMessage[],
  message: UserMessage,
): UserMessage[] {
  const ids = new Set(claimed.map(({ id }) => id))
  const after = entering.findLastIndex(({ id }) => ids.has(id)) + 1
  return [...entering.slice(0, after), message, ...entering.slice(after)]
}
