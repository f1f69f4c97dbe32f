/** Short words for what the model does. */
import type { Reply, ToolCall } from '../scripted-model.ts'

/**
 * End the turn with a text.
 * @param text - the model's last words.
 * @param extra - further fields of the reply.
 * @returns the reply.
 */
export function say(text: string, extra: Omit<Reply, 'say'> = {}): Reply {
  return { say: text, ...extra }
}

/**
 * Call tools, all in one assistant message.
 * @param calls - the calls.
 * @returns the reply.
 */
export function call(...calls: ToolCall[]): Reply {
  return { calls }
}

/**
 * Read a file.
 * @param path - relative to the working directory, or absolute.
 * @returns the call.
 */
export function read(path: string): ToolCall {
  return { tool: 'read', args: { file_path: path } }
}

/**
 * Write a whole file.
 * @param path - relative to the working directory, or absolute.
 * @param content - the new content.
 * @returns the call.
 */
export function write(path: string, content: string): ToolCall {
  return { tool: 'write', args: { file_path: path, content } }
}

/**
 * Replace a text in a file that was read before.
 * @param path - relative to the working directory, or absolute.
 * @param before - the text to replace.
 * @param after - the text to put there.
 * @returns the call.
 */
export function edit(path: string, before: string, after: string): ToolCall {
  return { tool: 'edit', args: { file_path: path, old_string: before, new_string: after } }
}

/**
 * Do something on the disk after the request arrived and before the reply leaves.
 * @param work - what happens behind the model's back.
 * @param reply - the reply that follows.
 * @returns the reply.
 */
export function meanwhile(work: () => void, reply: Reply): Reply {
  return { ...reply, meanwhile: work }
}
