use super::*;

fn landmark(root: &str) -> Landmark {
    let walk = RootWalk { root: root.to_owned(), marker: None, empty: Vec::new(), conclusive: true };
    Landmark { walk, files: HashMap::default() }
}

#[test]
fn the_latest_finding_counts() {
    let mut landmarks = Landmarks::default();
    landmarks.note("/w/a", landmark("/"));
    landmarks.note("/w/a", landmark("/w"));
    assert_eq!(landmarks.at("/w/a").map(|landmark| landmark.walk.root.clone()).as_deref(), Some("/w"));
    assert!(landmarks.at("/w/b").is_none());
    landmarks.forget();
    assert!(landmarks.at("/w/a").is_none());
}

#[test]
fn the_directories_that_were_not_visited_for_longest_are_forgotten() {
    let mut landmarks = Landmarks::default();
    for index in 0..CAPACITY {
        landmarks.note(&format!("/w/{index}"), landmark("/w"));
    }
    landmarks.note("/w/0", landmark("/w"));
    landmarks.note("/w/new", landmark("/w"));
    assert!(landmarks.at("/w/1").is_none());
    assert!(landmarks.at("/w/0").is_some() && landmarks.at("/w/2").is_some() && landmarks.at("/w/new").is_some());
}
