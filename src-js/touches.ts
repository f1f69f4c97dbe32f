/**
 * Which files a tool call has touched, and whom a nested call belongs to.
 *
 * @module @deepseek-ai/dsh-agent-instructions/touches
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { ToolExecution, ToolExecutionResult } from '@deepseek-ai/dsh-tools'

/** One successful file tool call. */
export interface Touch {
  /** The agent on whose behalf the tool ran. */
  readonly agent: Agent
  /** The path as the tool was given it, trimmed. */
  readonly path: string
}

/** The harness's own structured file tools. */
const FILE_TOOLS = new Set(['read', 'write', 'edit'])

/** Touches of nested calls, kept under their parent's token until the outermost call settles. */
export class TouchLedger {
  private readonly nested = new WeakMap<object, Touch[]>()

  /**
   * Account for one settled call.
   * @param exec - the call; a nested one names its parent's opaque token.
   * @param result - its outcome. A failed call touches nothing, but does not undo what it contained.
   * @returns the touches that count now: those of an outermost call and of everything inside it.
   */
  settle(exec: Readonly<ToolExecution>, result: Readonly<ToolExecutionResult>): readonly Touch[] {
    const touches = this.nested.get(exec.token) ?? []
    this.nested.delete(exec.token)
    const own = touchOf(exec, result)
    if (own !== undefined) touches.push(own)
    if (exec.parent === undefined) return touches
    if (touches.length > 0) {
      const siblings = this.nested.get(exec.parent)
      if (siblings === undefined) this.nested.set(exec.parent, touches)
      else siblings.push(...touches)
    }
    return []
  }
}

function touchOf(exec: Readonly<ToolExecution>, result: Readonly<ToolExecutionResult>): Touch | undefined {
  const { agent, name, signal } = exec
  if (agent === undefined || result.isError === true || signal.aborted || !FILE_TOOLS.has(name)) return undefined
  const path = (exec.arguments as { file_path?: unknown } | null | undefined)?.file_path
  if (typeof path !== 'string' || path.trim() === '') return undefined
  return { agent, path: path.trim() }
}
