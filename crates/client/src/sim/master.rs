//! Simulated master: regions move, split and merge, servers crash and their regions are reassigned,
//! and `hbase:meta` is updated a little later.

use std::rc::Rc;

use halite_types::Bytes;
use halite_wire::exception::MovedTo;

use super::Simulation;
use super::cluster::{Incarnation, PORT};
use super::meta::MetaRow;

impl Simulation {
    /// Returns a random running server.
    fn any_server(&mut self) -> Option<Incarnation> {
        let up = self.cluster.borrow().up();
        self.rng.choice(up)
    }

    pub(super) fn any_region(&mut self) -> Option<String> {
        let open: Vec<String> = self
            .cluster
            .borrow()
            .regions
            .iter()
            .filter(|(_, region)| region.server.is_some())
            .map(|(name, _)| name.clone())
            .collect();
        self.rng.choice(open)
    }

    /// Opens a region on a server, as soon as one is running.
    pub(super) fn assign(&mut self, name: String) {
        let Some(who) = self.any_server() else {
            return self.after(100..200, move |storm| storm.assign(name));
        };
        self.open(&name, who);
    }

    fn open(&mut self, name: &str, who: Incarnation) {
        let mut cluster = self.cluster.borrow_mut();
        if !cluster.is_alive(who) {
            drop(cluster);
            return self.assign(name.to_string());
        }
        // It may have been split or merged.
        let Some(region) = cluster.regions.get_mut(name) else { return };
        region.server = Some(who);
        region.sequence += 10;
        let (region, sequence) = (region.info.clone(), region.sequence);
        cluster.moved.remove(&(name.to_string(), who.server));
        let server = Some(cluster.name(who));
        drop(cluster);
        let row = MetaRow { region, is_split: false, server, sequence };
        self.after(0..300, move |storm| storm.update_meta(row));
    }

    /// Updates the location of a region in meta, unless meta has a newer one.
    fn update_meta(&mut self, row: MetaRow) {
        let mut cluster = self.cluster.borrow_mut();
        let is_there = cluster.regions.contains_key(&row.region.encoded_name);
        if is_there
            && cluster.meta.get(&row.key()).is_none_or(|known| known.sequence <= row.sequence)
        {
            cluster.meta.insert(row.key(), row);
        }
    }

    pub(super) fn move_region(&mut self) {
        let (Some(name), Some(to)) = (self.any_region(), self.any_server()) else { return };
        let mut cluster = self.cluster.borrow_mut();
        let tells = self.rng.bool();
        let target = cluster.name(to);
        let Some(region) = cluster.regions.get_mut(&name) else { return };
        let Some(from) = region.server.take() else { return };
        let sequence = region.sequence + 10;
        if tells && from.server != to.server {
            let moved =
                MovedTo { host: target.host, port: PORT, start_code: target.start_code, sequence };
            cluster.moved.insert((name.clone(), from.server), moved);
        }
        drop(cluster);
        self.after(0..600, move |storm| storm.open(&name, to));
    }

    /// Moves all regions to one server.
    pub(super) fn gather(&mut self) {
        let Some(to) = self.any_server() else { return };
        let names: Vec<String> = self.cluster.borrow().regions.keys().cloned().collect();
        for name in names {
            self.open(&name, to);
        }
    }

    pub(super) fn split_region(&mut self) {
        let Some(name) = self.any_region() else { return };
        let mut cluster = self.cluster.borrow_mut();
        let region = &cluster.regions[&name];
        let (start, end) = (region.info.start.clone(), region.info.end.clone());
        let inside: Vec<Bytes> = cluster
            .rows
            .keys()
            .filter(|row| **row > start && (end.is_empty() || **row < end))
            .cloned()
            .collect();
        let Some(middle) = self.rng.choice(inside) else { return };
        let Some(parent) = cluster.regions.remove(&name) else { return };
        let daughters = [cluster.add_region(&start, &middle), cluster.add_region(&middle, &end)];
        let row = MetaRow {
            region: parent.info,
            is_split: true,
            server: None,
            sequence: parent.sequence + 1,
        };
        drop(cluster);
        self.after(0..200, move |storm| {
            let key = row.key();
            storm.cluster.borrow_mut().meta.insert(key.clone(), row);
            storm.after(0..2_000, move |storm| drop(storm.cluster.borrow_mut().meta.remove(&key)));
        });
        let same = parent.server.filter(|_| self.rng.bool());
        for daughter in daughters {
            self.after(0..400, move |storm| match same {
                Some(who) => storm.open(&daughter, who),
                None => storm.assign(daughter),
            });
        }
    }

    /// Merges a region with the next one.
    pub(super) fn merge_regions(&mut self) {
        let Some(name) = self.any_region() else { return };
        let mut cluster = self.cluster.borrow_mut();
        let end = cluster.regions[&name].info.end.clone();
        let is_next = |region: &super::cluster::Region| {
            !end.is_empty() && region.info.start == end && region.server.is_some()
        };
        let Some(next) = cluster
            .regions
            .iter()
            .find(|(_, region)| is_next(region))
            .map(|(name, _)| name.clone())
        else {
            return;
        };
        let (Some(first), Some(second)) =
            (cluster.regions.remove(&name), cluster.regions.remove(&next))
        else {
            return;
        };
        let merged = cluster.add_region(&first.info.start, &second.info.end);
        let row_of = |region: super::cluster::Region| MetaRow {
            region: region.info,
            is_split: false,
            server: None,
            sequence: 0,
        };
        let keys = [row_of(first).key(), row_of(second).key()];
        drop(cluster);
        self.after(0..400, move |storm| storm.assign(merged));
        self.after(0..400, move |storm| {
            keys.iter().for_each(|key| drop(storm.cluster.borrow_mut().meta.remove(key)));
        });
    }

    /// Moves `hbase:meta` to another server; the registry is updated a little later.
    pub(super) fn move_meta(&mut self) {
        self.cluster.borrow_mut().meta_server = None;
        self.after(0..500, Simulation::assign_meta);
    }

    pub(super) fn assign_meta(&mut self) {
        let who = self.any_server();
        let Some(who) = who else { return self.after(100..200, Simulation::assign_meta) };
        self.cluster.borrow_mut().meta_server = Some(who);
        self.after(0..200, move |storm| {
            let mut cluster = storm.cluster.borrow_mut();
            if cluster.meta_server == Some(who) {
                cluster.registered_meta_server = Some(who);
            }
        });
    }

    /// Crashes a server's process, either with its connections or silently as in a power failure.
    /// Its regions are reassigned when the crash is detected; another process starts at its
    /// address.
    pub(super) fn crash(&mut self) {
        let Some(who) = self.any_server() else { return };
        let host = self.cluster.borrow().nodes[who.server].name.clone();
        let is_silent = self.rng.bool();
        if is_silent {
            self.sim.partition("client", host.clone());
        }
        self.sim.crash(host.clone());
        if is_silent {
            self.sim.repair("client", host.clone());
        }
        let mut cluster = self.cluster.borrow_mut();
        cluster.nodes[who.server].is_up = false;
        cluster.moved.retain(|(_, server), _| *server != who.server);
        let served: Vec<String> = cluster
            .regions
            .iter()
            .filter(|(_, region)| region.server == Some(who))
            .map(|(name, _)| name.clone())
            .collect();
        served
            .iter()
            .filter_map(|name| cluster.regions.get_mut(name).map(|region| region.server = None))
            .count();
        let had_meta = cluster.meta_server == Some(who);
        cluster.meta_server = cluster.meta_server.filter(|_| !had_meta);
        drop(cluster);
        for name in served {
            self.after(100..1_500, move |storm| storm.assign(name));
        }
        if had_meta {
            self.after(100..1_000, Simulation::assign_meta);
        }
        self.after(50..3_000, move |storm| storm.sim.bounce(host));
    }

    /// Returns `true` if everything is served, and meta and the registry are up to date.
    pub(super) fn is_well(&self) -> bool {
        let cluster = Rc::clone(&self.cluster);
        let cluster = cluster.borrow();
        let is_told = |region: &super::cluster::Region| {
            let row =
                MetaRow { region: region.info.clone(), is_split: false, server: None, sequence: 0 };
            region.server.is_some_and(|who| {
                cluster.is_alive(who)
                    && cluster.meta.get(&row.key()).and_then(|row| row.server.clone())
                        == Some(cluster.name(who))
            })
        };
        cluster.meta_server.is_some()
            && cluster.meta_server == cluster.registered_meta_server
            && cluster.regions.values().all(is_told)
    }
}
