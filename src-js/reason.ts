/**
 * What a failure says of itself.
 *
 * @module @deepseek-ai/dsh-agent-instructions/reason
 */

/**
 * Put a failure into words. Anything can be thrown, also what throws when it is looked at.
 * @param error - what was thrown, or the reason of a rejection.
 * @returns an error's message, or the value as text; never throws.
 */
export function reasonOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error)
  } catch {
    return 'the provider failed and cannot say how'
  }
}
