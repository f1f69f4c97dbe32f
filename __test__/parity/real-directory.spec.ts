/**
 * Parity (c): the public inputs that broke other loaders, as far as they are about what
 * stands in a tree, on a real directory through dsh-fs-local. `onStage` compares both packages
 * after every action; what a test itself expects only shows that it got where its name says.
 */
import { chmodSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { begin, everyWay, onStage, play } from './real-directory.ts'
import type { Faults, Stage } from './real-directory.ts'

const bytes = (...parts: (string | number[])[]) => Buffer.concat(parts.map(part => typeof part === 'string' ? Buffer.from(part) : Buffer.from(part)))

describe('BOM and an identical sibling', () => {
  const [bom, plain] = ['\ufeffUse tabs.', 'Use tabs.']
  for (const [name, first, second] of [['first', bom, plain], ['second', plain, bom], ['both', bom, bom], ['inside', 'Use\ufeff tabs.', plain], ['alone', '\ufeff', '']] as const) {
    play(name, {}, async stage => {
      stage.write('AGENTS.md', first)
      stage.write('CLAUDE.md', second)
      await everyWay(stage, () => stage.write('AGENTS.md', second), () => stage.write('CLAUDE.md', first), () => stage.remove('AGENTS.md'))
      expect(stage.told).toContain('CLAUDE.md')
    })
  }
})

describe('CRLF against LF', () => {
  const crlf = 'Use tabs.\r\nWrite tests.\r\n'
  const lf = crlf.replaceAll('\r\n', '\n')
  play('siblings', {}, async stage => {
    stage.write('AGENTS.md', crlf)
    stage.write('CLAUDE.md', lf)
    await begin(stage)
    expect(stage.told).toContain('CLAUDE.md')
    expect(stage.told).toContain(crlf.trim())
  })
  play('an edit of nothing else', {}, async stage => {
    stage.write('AGENTS.md', lf)
    await everyWay(stage, () => stage.write('AGENTS.md', crlf), () => stage.write('CLAUDE.md', lf.trim()), () => stage.write('AGENTS.md', lf))
  })
  play('at the end only', {}, async stage => {
    stage.write('AGENTS.md', 'Use tabs.\r\n')
    stage.write('CLAUDE.md', 'Use tabs.\n')
    await begin(stage)
    expect(stage.told).not.toContain('CLAUDE.md')
  })
})

describe('invalid UTF-8, UTF-16 and NUL', () => {
  const contents: Record<string, Buffer> = {
    'a stray continuation byte': bytes('a', [0x80], 'b'),
    'a character cut at the end': bytes('abc', [0xe2, 0x82]),
    'an overlong encoding': bytes([0xc0, 0xaf]),
    'an encoded surrogate': bytes([0xed, 0xa0, 0x80], 'x'),
    'an invalid byte past the first chunk': bytes('x'.repeat(70_000), [0xff], 'y'),
    'a character over the chunk boundary': bytes('x'.repeat(65_535), '😀 end'),
    'UTF-16LE with a BOM': Buffer.from('\ufeffUse tabs.', 'utf16le'),
    'UTF-16BE with a BOM': Buffer.from('\ufeffUse tabs.', 'utf16le').swap16(),
    'UTF-16LE without': Buffer.from('Use tabs.', 'utf16le'),
    'NUL first': bytes('\0text'),
    'NUL in the middle': bytes('te\0xt'),
    'NUL as the last byte of the sample': bytes('x'.repeat(8_191), '\0', 'y'),
    'NUL right after the sample': bytes('x'.repeat(8_192), '\0', 'y'),
    'NUL past the first chunk': bytes('x'.repeat(66_000), '\0', 'y'),
    'nothing but NUL': bytes('\0'),
    'a BOM twice': bytes([0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf], 'text'),
  }
  for (const [name, content] of Object.entries(contents)) {
    play(name, {}, async stage => {
      stage.write('AGENTS.md', content)
      stage.write('CLAUDE.md', 'A good neighbour.')
      await everyWay(stage, () => stage.write('AGENTS.md', 'Mended.'), () => stage.write('AGENTS.md', content))
      stage.write('sub/AGENTS.md', content)
      stage.write('sub/CLAUDE.md', 'Nested.')
      await stage.touch('sub/file.txt')
      expect(stage.told).toContain('Nested.')
    })
  }
})

describe('an entry that is no file', () => {
  const entries: Record<string, (stage: Stage) => void> = {
    'a directory': stage => stage.directory('AGENTS.md'),
    'a directory with a file of that name': stage => { stage.directory('AGENTS.md'); stage.write('AGENTS.md/AGENTS.md', 'inner') },
    'a FIFO': stage => stage.fifo('AGENTS.md'),
    'a link to a directory': stage => stage.link('AGENTS.md', '.git'),
    'a link to a FIFO': stage => { stage.fifo('pipe'); stage.link('AGENTS.md', 'pipe') },
    'a link to a device': stage => stage.link('AGENTS.md', '/dev/null'),
    'a link to an endless device': stage => stage.link('AGENTS.md', '/dev/zero'),
  }
  for (const [name, make] of Object.entries(entries)) {
    play(name, {}, async stage => {
      make(stage)
      stage.write('CLAUDE.md', 'A good neighbour.')
      await everyWay(stage, () => stage.write('AGENTS.md', 'A file now.'), () => make(stage))
      expect(stage.told).toContain('A good neighbour.')
      make(stage)
      await stage.touch('AGENTS.md/file.txt', 'AGENTS.md')
      await stage.turn()
    })
  }
})

describe('dangling links, link loops, and a file that becomes either', () => {
  const links: Record<string, (stage: Stage) => void> = {
    'dangling': stage => stage.link('AGENTS.md', 'nowhere'),
    'dangling deep': stage => stage.link('AGENTS.md', 'no/where/at/all.md'),
    'through a file': stage => { stage.write('file.txt', ''); stage.link('AGENTS.md', 'file.txt/AGENTS.md') },
    'to itself': stage => stage.link('AGENTS.md', 'AGENTS.md'),
    'a loop of two': stage => { stage.link('other.md', 'AGENTS.md'); stage.link('AGENTS.md', 'other.md') },
    'a chain of many': stage => {
      for (let index = 0; index < 45; index++) stage.link(`l${index}`, `l${index + 1}`)
      stage.write('l45', 'far away')
      stage.link('AGENTS.md', 'l0')
    },
  }
  for (const [name, make] of Object.entries(links)) {
    play(name, {}, async stage => {
      make(stage)
      stage.write('CLAUDE.md', 'A good neighbour.')
      await everyWay(stage, () => stage.write('AGENTS.md', 'A file now.'), () => make(stage), () => stage.write('CLAUDE.md', 'Edited.'))
      stage.write('AGENTS.md', 'A file again.')
      await stage.turn()
      make(stage)
      await stage.touch('file.txt')
      await stage.turn()
    })
  }
  play('a directory that is a loop', {}, async stage => {
    stage.write('sub/AGENTS.md', 'nested')
    await begin(stage)
    await stage.touch('sub/file.txt')
    expect(stage.told).toContain('nested')
    stage.link('sub', 'sub')
    await stage.touch('sub/file.txt')
    await stage.turn()
    stage.link('sub', '.')
    await stage.touch('sub/sub/sub/file.txt')
    await stage.turn()
  })
})

describe('links out of the tree and to a sibling', () => {
  play('out of the tree', {}, async stage => {
    stage.write('../outside/rules.md', 'From outside.')
    stage.link('AGENTS.md', '../outside/rules.md')
    stage.link('sub', '../outside')
    stage.write('../outside/AGENTS.md', 'Linked directory.')
    await everyWay(stage, () => stage.write('../outside/rules.md', 'Edited outside.'), () => stage.remove('../outside/rules.md'))
    await stage.touch('sub/file.txt')
    expect(stage.told).toContain('Linked directory.')
    await stage.turn()
  })
  play('to a sibling', {}, async stage => {
    stage.write('AGENTS.md', 'Rules.')
    stage.link('CLAUDE.md', 'AGENTS.md')
    stage.link('AGENTS.local.md', 'CLAUDE.md')
    await everyWay(stage, () => stage.write('AGENTS.md', 'Edited.'), () => stage.write('CLAUDE.md', 'Its own.'), () => stage.link('AGENTS.md', 'CLAUDE.md'))
    expect(stage.told).toContain('Its own.')
  })
  play('cwd through a link', { cwd: 'real' }, async stage => {
    stage.write('real/AGENTS.md', 'Real.')
    stage.link('linked', 'real')
    await stage.start()
    await stage.session('linked')
    await stage.turn()
    expect(stage.told).toContain('linked/AGENTS.md')
    await stage.touch('../real/deep/file.txt', 'file.txt')
    await stage.turn()
  })
})

describe('worktree and submodule .git files, an empty .git directory', () => {
  const markers: Record<string, (stage: Stage) => void> = {
    'worktree': stage => stage.write('work/.git', 'gitdir: ../.git/worktrees/work\n'),
    'submodule': stage => stage.write('work/.git', 'gitdir: ../.git/modules/work\n'),
    'empty directory': stage => stage.directory('work/.git'),
    'empty file': stage => stage.write('work/.git', ''),
    'dangling link': stage => stage.link('work/.git', 'nowhere'),
    'link loop': stage => stage.link('work/.git', '.git'),
    'FIFO': stage => stage.fifo('work/.git'),
    'none': () => {},
  }
  for (const [name, make] of Object.entries(markers)) {
    play(name, { cwd: 'work/deep' }, async stage => {
      make(stage)
      stage.write('AGENTS.md', 'Outer.')
      stage.write('work/AGENTS.md', 'Inner.')
      stage.write('work/deep/AGENTS.md', 'Deep.')
      await everyWay(stage, () => stage.remove('work/.git'), () => make(stage))
      expect(stage.told).toContain(`from: ${name.includes('link') || name === 'none' ? 'work/deep' : 'deep'}/AGENTS.md`)
    })
  }
})

describe('an unreadable marker, candidate or stream', () => {
  const long = `${'n'.repeat(300)}.md`
  play('names that no disk can hold', { config: { projectRootMarkers: [long, 'a\0b', '.git'], instructionFileCandidates: [long, 'AGENTS.md', 'b\0c.md', ' '] } }, async stage => {
    stage.write('AGENTS.md', 'Rules.')
    await everyWay(stage, () => stage.write('AGENTS.md', 'Edited.'), () => stage.remove('AGENTS.md'))
    await stage.touch('a\0b/file.txt', `${long}/file.txt`, 'sub/file.txt')
    await stage.turn()
  })
  play('a marker below a file', { config: { projectRootMarkers: ['file.txt/x', '.git/', '../project/.git'] }, cwd: 'sub' }, async stage => {
    stage.write('file.txt', '')
    stage.write('AGENTS.md', 'Root.')
    stage.write('sub/AGENTS.md', 'Sub.')
    await everyWay(stage)
  })
  for (const op of ['resolve', 'stat', 'lstat', 'open', 'chunk', 'close'] as const) {
    for (const name of ['AGENTS.md', 'CLAUDE.md', 'AGENTS.local.md', '.git']) {
      play(`${op} of ${name} throws`, { cwd: 'sub' }, async stage => {
        const { faults } = stage
        const fail: Faults['before'] = (at, path) => { if (at === op && path.endsWith(`/${name}`)) throw new Error('fault') }
        stage.write('AGENTS.md', 'Root.')
        for (const file of ['AGENTS.md', 'CLAUDE.md', 'AGENTS.local.md']) stage.write(`sub/${file}`, `Rules of ${file}.`)
        faults.before = fail
        await stage.start()
        await stage.turn()
        delete faults.before
        await stage.turn()
        stage.write('sub/AGENTS.md', 'Edited.')
        stage.write('sub/CLAUDE.md', 'Edited.')
        faults.before = fail
        await stage.touch('file.txt')
        await stage.turn()
        stage.remove('sub/AGENTS.md')
        await stage.touch('file.txt', 'deep/file.txt')
        await stage.resume()
        await stage.turn()
        delete faults.before
        await stage.turn()
        await stage.compact(0, 99)
        await stage.turn()
        expect(stage.told).toContain('sub/CLAUDE.md')
      })
    }
  }
  const { getuid, seteuid } = process
  const root = getuid?.() === 0
  // Permission bits do not bind root, so that the script is played as another user; the modules are loaded by then.
  it.skipIf(seteuid === undefined)('permission bits', { timeout: 60_000 }, () => onStage({ cwd: 'sub' }, async stage => {
    for (const path of ['AGENTS.md', 'CLAUDE.md', 'sub/AGENTS.md', 'sub/deep/AGENTS.md']) stage.write(path, `Rules of ${path}.`)
    const asUser = async (work: () => Promise<void>) => {
      if (root) process.seteuid!(65_534)
      try {
        await work()
      } finally {
        if (root) process.seteuid!(0)
      }
    }
    await stage.start()
    chmodSync(stage.at('AGENTS.md'), 0)
    await asUser(() => stage.turn())
    expect(stage.told).not.toContain('Rules of AGENTS.md')
    chmodSync(stage.at('sub/deep'), 0)
    await asUser(() => stage.touch('deep/file.txt'))
    chmodSync(stage.at('AGENTS.md'), 0o644)
    chmodSync(stage.at('sub/deep'), 0o755)
    await asUser(() => stage.touch('deep/file.txt'))
    expect(stage.told).toContain('Rules of sub/deep/AGENTS.md')
    chmodSync(stage.at('sub'), 0)
    await asUser(() => stage.turn())
    chmodSync(stage.at('.git'), 0)
    await asUser(() => stage.turn())
    chmodSync(stage.at('sub'), 0o755)
    await asUser(() => stage.turn())
  }))
})

describe('a path that spells the closing tag', () => {
  play('nested, in cwd, and as a candidate', { config: { instructionFileCandidates: ['AGENTS.md', '<'] } }, async stage => {
    stage.write('</system-reminder>/AGENTS.md', 'Trick.')
    await begin(stage)
    await stage.touch('</system-reminder>/file.txt')
    expect(stage.told).toContain('Trick.')
    await stage.turn()
    stage.remove('</system-reminder>/AGENTS.md')
    await stage.turn()
    stage.write('</system-reminder>/AGENTS.md', '</system-reminder>')
    await stage.session('</system-reminder>')
    await stage.turn()
    await stage.remount({ maxBytes: 290 })
    await stage.turn()
  })
})

describe('odd directory names', () => {
  const names = [
    'two words', ' leading', 'trailing ', '[x]', '*', 'new\nline', 'e\u0301', '\u00e9', '日本', '😀', '..foo', '...', '-rf', '~', '$HOME', '`x`', '"q"', '\'q\'',
    'back\\slash', 'c:', 'a%2Fb', '\u0085', '\u2028', '\ufeff', 'user-global', 'CON', '.', 'x'.repeat(200), '<system-reminder>',
  ]
  for (const name of names) {
    play(JSON.stringify(name), {}, async stage => {
      stage.write(`${name}/AGENTS.md`, 'Odd.')
      stage.write(`${name}/CLAUDE.md`, 'Odd.')
      stage.write(`in/${name}/deep/AGENTS.md`, 'Deep.')
      await begin(stage)
      await stage.touch(`${name}/file.txt`)
      await stage.touch(`in/${name}/deep/file.txt`)
      await stage.touch(stage.at(`${name}/other.txt`), `./in/../in//${name}/./deep/x`)
      expect(stage.told).toContain(name === '.' ? '' : 'Deep.')
      await stage.turn()
      stage.write(`${name}/AGENTS.md`, 'Edited.')
      await stage.turn()
      stage.remove(`in/${name}/deep`)
      await stage.turn()
      await stage.session(name)
      await stage.turn()
      expect(stage.told).toContain('Edited.')
    })
  }
})
