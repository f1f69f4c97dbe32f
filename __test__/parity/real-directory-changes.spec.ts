/**
 * Parity (c), continued: the public inputs that broke other loaders, as far as they are about
 * budgets, the harness home, and what changes while a session lives. As in
 * real-directory.spec.ts, `onStage` compares both packages after every action.
 */
import { appendFileSync } from 'node:fs'
import { describe, expect } from 'vitest'
import { begin, everyWay, play } from './real-directory.ts'
import type { Stage } from './real-directory.ts'

describe('budgets', () => {
  const budgets = [0, -1, 0.5, 1, 40, 150, 240, 256, 257, 258, 259, 260, 264, 270, 280, 290, 300, 300.5, 320, 340, 360, 380, 400, 450, 500, 600]
  const contents = { 'a multibyte character': '€😀é'.repeat(30), 'zero bytes left': 'abc', 'escaping that grows the text': '</system-reminder>'.repeat(20), 'lone characters': '</system-reminder>é' }
  for (const [name, content] of Object.entries(contents)) {
    for (const maxBytes of budgets) {
      play(`${name}, ${maxBytes} bytes`, { config: { maxBytes } }, async stage => {
        stage.write('../home/AGENTS.md', 'Global.')
        stage.write('AGENTS.md', content)
        await begin(stage)
        stage.write('sub/AGENTS.md', content)
        stage.write('sub/CLAUDE.md', `${content}!`)
        await stage.touch('sub/file.txt')
        await stage.turn()
        stage.write('AGENTS.md', `${content}?`)
        stage.remove('sub/CLAUDE.md')
        await stage.turn()
        expect(Buffer.byteLength(stage.told)).toBeLessThanOrEqual(Math.max(0, maxBytes))
        await stage.resume()
        await stage.turn()
      })
    }
  }
  play('at one byte under a perfect fit, and at it', { config: { maxBytes: 1 } }, async stage => {
    stage.write('AGENTS.md', 'abc')
    await stage.start()
    for (let maxBytes = 276; maxBytes < 320; maxBytes++) {
      await stage.remount({ maxBytes })
      await stage.turn()
    }
    expect(stage.told).toContain('abc')
  })
  play('another budget while messages are pending', {}, async stage => {
    stage.write('AGENTS.md', 'x'.repeat(500))
    await stage.start()
    await stage.turn(() => ({ kind: 'reject' }))
    await stage.remount({ maxBytes: 400 })
    await stage.turn(() => ({ kind: 'reject' }))
    await stage.remount({ maxBytes: 1_200 })
    await stage.turn()
    expect(stage.told).toContain('x'.repeat(500))
  })
})

describe('home and project', () => {
  const nested = async (stage: Stage) => {
    stage.write('AGENTS.md', 'Both at once.')
    stage.write('CLAUDE.md', 'Both at once.')
    stage.write('sub/AGENTS.md', 'Nested.')
    await everyWay(stage, () => stage.write('AGENTS.md', 'Edited.'), () => stage.remove('AGENTS.md'), () => stage.write('AGENTS.md', 'Back.'))
    await stage.touch('sub/file.txt')
    const told = stage.told
    await stage.turn()
    return told
  }
  play('home is the project root', { home: 'project' }, async stage => expect(await nested(stage)).toContain('Nested.'))
  play('home is linked to the project root', {}, async stage => {
    stage.link('../home', 'project')
    expect(await nested(stage)).toContain('Nested.')
  })
  play('home is below cwd', { home: 'project/sub' }, async stage => expect(await nested(stage)).toBe(''))
  play('home is cwd below the root', { home: 'project/sub', cwd: 'sub' }, async stage => {
    stage.write('sub/AGENTS.md', 'Home and cwd.')
    await nested(stage)
  })
  play('home is missing, a file, a loop', {}, async stage => {
    await nested(stage)
    for (const make of [() => stage.write('../home/AGENTS.md', 'There.'), () => stage.write('../home', 'file'), () => stage.link('../home', 'home'), () => stage.write('../home/AGENTS.md', 'Here.'), () => stage.directory('../home/AGENTS.md')]) {
      stage.remove('../home')
      make()
      await stage.turn()
      await stage.remount()
      await stage.turn()
    }
  })
  for (const [name, home, env] of [['~/.dsh', '~/.dsh', { HOME: '.' }], ['the default', null, { HOME: '.', DSH_HOME: '.dsh' }], ['$DSH_HOME', null, { DSH_HOME: 'elsewhere' }]] as const) {
    const at = name === '$DSH_HOME' ? '../elsewhere' : '../.dsh'
    play(`reserved names are those of project directories too, home is ${name}`, { home, env }, async stage => {
      for (const directory of [at, '.', 'user-global', '~/.dsh', '$DSH_HOME']) stage.write(`${directory}/AGENTS.md`, `Rules of ${directory}.`)
      await begin(stage)
      for (const directory of ['user-global', '~/.dsh', '$DSH_HOME']) {
        await stage.touch(`${directory}/file.txt`)
        await stage.turn()
        stage.write(`${directory}/AGENTS.md`, 'Edited.')
        await stage.turn()
        stage.remove(`${at}/AGENTS.md`)
        await stage.touch(`${directory}/file.txt`)
        await stage.turn()
        stage.write(`${at}/AGENTS.md`, `Rules of ${at}.`)
        await stage.session(directory)
        await stage.turn()
        await stage.session('.')
        await stage.turn()
      }
      expect(stage.told).toContain(`Rules of ${at}.`)
    })
  }
})

describe('delete, edit, recreate, rename; a directory replaced by a file', () => {
  play('one file', {}, async stage => {
    stage.write('AGENTS.md', 'Rules.')
    await everyWay(
      stage,
      () => stage.remove('AGENTS.md'),
      () => stage.write('AGENTS.md', 'Rules.'),
      () => stage.write('AGENTS.md', 'Edited.'),
      () => stage.write('AGENTS.md', 'Edited.'),
      () => stage.rename('AGENTS.md', 'CLAUDE.md'),
      () => stage.rename('CLAUDE.md', 'README.md'),
      () => stage.rename('README.md', 'AGENTS.local.md'),
      () => stage.write('AGENTS.md', ' Edited. \n'),
    )
    expect(stage.told).toContain('from: AGENTS.md')
  })
  play('an edit and its undoing between two turns', {}, async stage => {
    stage.write('AGENTS.md', 'One.')
    await begin(stage)
    stage.write('AGENTS.md', 'Two.')
    await stage.touch('file.txt')
    expect(stage.told).toContain('Two.')
    stage.write('AGENTS.md', 'One.')
    await stage.touch('file.txt')
    expect(stage.told).toBe('')
    stage.remove('AGENTS.md')
    await stage.touch('file.txt')
    stage.write('AGENTS.md', 'Three.')
    await stage.turn()
    expect(stage.told).toContain('Three.')
  })
  play('a directory and what was loaded from it', {}, async stage => {
    stage.write('sub/AGENTS.md', 'Sub.')
    stage.write('sub/deep/AGENTS.md', 'Deep.')
    await begin(stage)
    await stage.touch('sub/deep/file.txt')
    expect(stage.told).toContain('Deep.')
    await stage.turn()
    const changes = [
      () => stage.write('sub/deep', 'a file'),
      () => stage.write('sub', 'a file'),
      () => stage.remove('sub'),
      () => stage.write('sub/deep/AGENTS.md', 'Deep.'),
      () => stage.rename('sub', 'moved'),
      () => stage.link('sub', 'moved'),
      () => stage.link('sub', 'nowhere'),
      () => { stage.remove('sub'); stage.write('sub/AGENTS.md', 'Sub.') },
    ]
    for (const change of changes) {
      change()
      await stage.touch('sub/deep/file.txt')
      await stage.turn()
      await stage.touch('moved/deep/file.txt')
    }
    expect(stage.told).toBe('')
  })
  play('the project itself goes, and comes back', { cwd: 'work' }, async stage => {
    stage.write('work/AGENTS.md', 'Work.')
    await begin(stage)
    for (const change of [() => stage.remove('work'), () => stage.write('work', 'a file'), () => stage.remove('.'), () => stage.write('work/AGENTS.md', 'Work again.')]) {
      change()
      await stage.touch('file.txt', 'deep/file.txt')
      await stage.turn()
    }
    expect(stage.told).toContain('Work again.')
  })
})

describe('resume after offline edits and under another budget', () => {
  const files = { '../home/AGENTS.md': 'Global. '.repeat(20), 'AGENTS.md': 'Root. '.repeat(20), 'CLAUDE.md': 'Other. '.repeat(20), 'sub/AGENTS.md': 'Sub. '.repeat(20) }
  const budgets = [400, 520, 700, 900, 65_536]
  for (const before of budgets) {
    for (const after of budgets) {
      play(`${before} bytes, then ${after}`, { config: { maxBytes: before } }, async stage => {
        for (const [path, content] of Object.entries(files)) stage.write(path, content)
        await begin(stage)
        await stage.touch('sub/file.txt')
        await stage.turn()
        stage.write('AGENTS.md', `Edited. ${files['AGENTS.md']}`)
        stage.remove('CLAUDE.md')
        stage.write('AGENTS.local.md', 'Overlay.')
        await stage.remount({ maxBytes: after })
        await stage.resume()
        await stage.turn()
        expect(stage.told).not.toBe('')
        stage.write('CLAUDE.md', 'Other, shorter.')
        await stage.resume()
        await stage.touch('sub/file.txt')
        await stage.turn()
      })
    }
  }
  play('nothing is left', {}, async stage => {
    stage.write('AGENTS.md', 'Rules.')
    await begin(stage)
    stage.remove('AGENTS.md')
    await stage.remount({ projectRootMarkers: [] })
    await stage.resume()
    await stage.turn()
    expect(stage.told).toContain('replaces all earlier')
  })
})

describe('compaction after an edit', () => {
  for (const [first, last] of [[0, 0], [1, 1], [0, 1], [0, 2], [2, 3], [0, 99]] as const) {
    play(`of ${first} to ${last}`, {}, async stage => {
      stage.write('AGENTS.md', 'Rules.')
      stage.write('sub/AGENTS.md', 'Sub.')
      await begin(stage)
      await stage.touch('sub/file.txt')
      stage.write('AGENTS.md', 'Edited.')
      await stage.turn()
      expect(stage.told).toContain('Edited.')
      await stage.compact(first, last)
      await stage.touch('file.txt')
      await stage.turn()
      stage.write('sub/AGENTS.md', 'Sub, edited.')
      await stage.compact(first, last)
      await stage.turn()
      await stage.touch('sub/file.txt')
      stage.remove('AGENTS.md')
      await stage.compact(0, 99)
      await stage.turn()
    })
  }
})

describe('many reads before one step', () => {
  for (const inStep of [false, true]) {
    play(inStep ? 'held back until the step ends' : 'one after the other', {}, async stage => {
      const paths = Array.from({ length: 40 }, (_, index) => `d${index % 10}/e${index}/file.txt`)
      for (const path of paths) stage.write(path.replace('file.txt', 'AGENTS.md'), `Rules of ${path}.`)
      stage.write('d3/CLAUDE.md', 'Rules of d3.')
      await stage.start()
      if (inStep) await stage.step()
      else await stage.turn()
      await stage.touch(...paths, ...paths.slice(10, 20))
      if (inStep) {
        expect(stage.told).toBe('')
        await stage.end(true)
      }
      expect(stage.told).toContain('Rules of d9/e39/file.txt.')
      expect(stage.told).toContain('Rules of d3.')
      await stage.touch('d3/e3/file.txt')
      await stage.turn()
      await stage.touch(...paths)
      expect(stage.told).toBe('')
    })
  }
})

describe('files that grow past the cap', () => {
  const config = { maxSourceBytes: 100 }
  play('between turns', { config }, async stage => {
    stage.write('AGENTS.md', 'x'.repeat(100))
    stage.write('CLAUDE.md', 'Small.')
    await everyWay(
      stage,
      () => stage.write('AGENTS.md', 'x'.repeat(101)),
      () => stage.write('CLAUDE.md', 'Edited.'),
      () => stage.write('AGENTS.md', 'é'.repeat(50)),
      () => stage.write('AGENTS.md', 'é'.repeat(51)),
      () => stage.remove('CLAUDE.md'),
      () => stage.write('AGENTS.md', '\ufeff' + 'x'.repeat(98)),
      () => stage.write('AGENTS.md', '\ufeff' + 'x'.repeat(97)),
    )
    expect(stage.told).toContain('x'.repeat(97))
  })
  for (const op of ['open', 'chunk'] as const) {
    // Large enough that no read ahead has come to the file's end when it grows.
    play(`between probe and ${op}`, { config: { maxSourceBytes: 500_000 } }, async stage => {
      let grown = 0
      stage.beforeSide = () => {
        stage.write('AGENTS.md', 'x'.repeat(400_000))
        grown = 0
      }
      stage.write('CLAUDE.md', 'Small.')
      const growBy = (size: number) => (at: string, path: string) => {
        if (at === op && path.endsWith('AGENTS.md') && grown++ === 0) appendFileSync(path, 'y'.repeat(size))
      }
      stage.faults.before = growBy(200_000)
      await begin(stage)
      expect(stage.told).toContain('Small.')
      expect(stage.told).not.toContain('xxx')
      await stage.touch('file.txt')
      delete stage.faults.before
      await stage.turn()
      expect(stage.told).toContain('xxx')
      stage.faults.before = growBy(50_000)
      await stage.turn()
      await stage.resume()
      await stage.turn()
    })
  }
  play('under another cap', { config }, async stage => {
    stage.write('AGENTS.md', 'x'.repeat(80))
    await begin(stage)
    for (const maxSourceBytes of [79, 80, 1, Number.MAX_SAFE_INTEGER]) {
      await stage.remount({ maxSourceBytes })
      await stage.turn()
    }
    expect(stage.told).toContain('x'.repeat(80))
  })
  play('a file of many megabytes', { config: { maxSourceBytes: 4 * 1024 * 1024 } }, async stage => {
    stage.write('AGENTS.md', '😀'.repeat(1024 * 1024))
    await begin(stage)
    expect(stage.told).toContain('truncated AGENTS.md from 4194304')
    stage.write('AGENTS.md', '😀'.repeat(1024 * 1024) + '.')
    await stage.turn()
  })
})
