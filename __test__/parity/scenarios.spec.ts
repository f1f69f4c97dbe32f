/** Parity (a): seeded random scenarios, played on the published package and on ours. */
import { describe, expect, it } from 'vitest'
import { compareSeed } from './compare.ts'

const SEEDS = 600
const BATCH = 50

describe('random scenarios are indistinguishable from the published package', () => {
  for (let from = 1; from <= SEEDS; from += BATCH) {
    it(`seeds ${from} to ${from + BATCH - 1}`, async () => {
      for (let seed = from; seed < from + BATCH; seed++) expect(await compareSeed(seed), `npm run parity -- --seeds 1 --from ${seed}`).toBeUndefined()
    })
  }
})
