/** Plays one scenario on the published package and on ours, and tells where they part. */
import { isDeepStrictEqual } from 'node:util'
import * as ours from '@deepseek-ai/dsh-agent-instructions'
import * as published from 'published-agent-instructions'
import type { InstructionsPlugin } from '../support/host.ts'
import { Player } from './player.ts'
import { generate } from './scenario.ts'
import type { Scenario } from './scenario.ts'

/** The first point at which the two differ. */
export interface Divergence {
  seed: number
  /** Index of the action in the scenario. */
  at: number
  action: unknown
  published: unknown
  ours: unknown
}

/**
 * Play one seed on both.
 * @param seed - the scenario's seed.
 * @returns the first divergence, or `undefined` when everything was equal.
 */
export async function compareSeed(seed: number): Promise<Divergence | undefined> {
  return await compareScenario(generate(seed))
}

/**
 * Play one scenario on both.
 * @param scenario - what happens.
 * @returns the first divergence, or `undefined` when everything was equal.
 */
export async function compareScenario(scenario: Scenario): Promise<Divergence | undefined> {
  const { seed } = scenario
  const theirs = await new Player(scenario, published as unknown as InstructionsPlugin).play()
  const mine = await new Player(scenario, ours as unknown as InstructionsPlugin).play()
  for (const [at, expected] of theirs.entries()) {
    if (!isDeepStrictEqual(expected, mine[at])) {
      const differing = Object.keys(expected).filter(key => !isDeepStrictEqual(expected[key as never], mine[at]?.[key as never]))
      const part = (observation: object | undefined) => Object.fromEntries(differing.map(key => [key, observation?.[key as never]]))
      return { seed, at, action: scenario.actions[at], published: part(expected), ours: part(mine[at]) }
    }
    // Equal in value is not enough for the durable log: key order is part of it.
    if (JSON.stringify(expected) !== JSON.stringify(mine[at])) {
      return { seed, at, action: scenario.actions[at], published: JSON.stringify(expected), ours: JSON.stringify(mine[at]) }
    }
  }
  return undefined
}
