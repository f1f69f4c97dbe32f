/**
 * Invariant companion: reserves this package's name with a host that checks invariants.
 *
 * @module @deepseek-ai/dsh-agent-instructions/invariant
 */
import type { Context } from '@deepseek-ai/cordis'
import type {} from '@deepseek-ai/dsh-invariants'

const PACKAGE_NAME = '@deepseek-ai/dsh-agent-instructions'

/** Cordis plugin name of the companion. */
export const name = 'workspace-context-invariant'

/** The service without which there is nothing to register with. */
export const inject = ['invariants']

/**
 * Register the companion. The plugin adds no runtime check of its own: its state is
 * derived from the log, which its own tests compare with the published package.
 * @param ctx - context that carries the invariant service.
 * @returns a promise of the registration's disposer.
 */
export const apply = (ctx: Context): Promise<() => void> =>
  Promise.resolve(ctx.invariants.register(PACKAGE_NAME, () => {}))
